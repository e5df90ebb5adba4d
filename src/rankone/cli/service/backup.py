"""``rankone backup`` and ``rankone restore``: whole copies of a database, made while services write to it."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._tables import show_rows, utc
from rankone.errors import InputError
from rankone.specs import parse_whole_number

if TYPE_CHECKING:
    from rankone.live.storage.sqlite_backup import Position


@command("backup", example="rankone.db monday.backup")
def backup(
    db: str = DB,
    file: Path = typer.Argument(..., help="File to write."),
    over: bool = typer.Option(False, "--over", help="Replace an existing backup."),
) -> None:
    """Copy a whole SQLite database to a file while services run. For PostgreSQL use pg_dump.

    Prints the last event of each journal, for `rankone restore --upto`.
    """
    from rankone.live.operate.backup import backup as make

    _show(make(db, file, over=over))
    print(f"Written to {file}.", file=sys.stderr)


@command("restore", example="monday.backup rankone.db --upto homepage=120000")
def restore(
    file: Path = typer.Argument(..., help="Backup to read."),
    db: str = typer.Argument(..., help="SQLite file to make."),
    upto: list[str] = typer.Option([], metavar="NAME=EVENT", help="Last event of an experiment; repeatable."),
    until: str | None = typer.Option(None, help="Time up to which to restore, such as 2026-11-17T08:30:00Z."),
    over: bool = typer.Option(False, "--over", help="Replace an existing database; the old one is kept as DB.before."),
    plain: bool = typer.Option(False, "--plain", help="Accept a plain copy, which may lack the last events."),
) -> None:
    """Make a SQLite database from a backup: all of it, or each journal up to an event or a time.

    Whole commits are restored, so a journal may end a few events before the one that is named.
    """
    from rankone.live.operate.backup import restore as make

    _show(make(file, db, upto=dict(map(_event, upto)), until=_seconds(until), over=over, plain=plain))
    print(f"Restored to {db}.", file=sys.stderr)


def _show(positions: Iterable[Position]) -> None:
    rows = [(each.experiment, each.events, utc(each.at / 1e6)) for each in positions]
    show_rows(rows, ("experiment", "events", "last_one_at"))


def _event(text: str) -> tuple[str, int]:
    name, _, event = text.rpartition("=")
    if not name:
        raise InputError("--upto as NAME=EVENT", text, "try --upto homepage=120000")
    return name, parse_whole_number("--upto", event, example=120_000)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError("--until as a time", text, "try --until 2026-11-17T08:30:00Z") from None
    if moment.tzinfo is None:
        raise InputError("a time with its zone", text, f"try --until {text}Z, for UTC")
    return moment.timestamp()
