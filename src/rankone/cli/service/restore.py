"""``rankone restore``: a database from a backup, to its end, to an event or to a time."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import typer

from rankone.cli._commands import SERVICE, command
from rankone.cli._experiments import show_positions
from rankone.errors import InputError
from rankone.specs import parse_whole_number


@command("restore", example="monday.backup rankone.db --upto homepage=120000", topic=SERVICE)
def restore(
    file: Path = typer.Argument(..., help="Backup to read."),
    db: str = typer.Argument(..., help="SQLite file to make."),
    upto: list[str] = typer.Option([], metavar="NAME=EVENT", help="Last event of an experiment; repeatable."),
    until: str | None = typer.Option(None, help="Time up to which to restore, such as 2026-11-17T08:30:00Z."),
    over: bool = typer.Option(False, "--over", help="Replace a database that is there; it is kept as DB.before."),
    plain: bool = typer.Option(False, "--plain", help="Take a plain copy that may lack the last events."),
) -> None:
    """Make a SQLite database from a backup: all of it, or each journal up to an event or a time.

    Whole commits are restored, so a journal may end a few events before the one that is named.
    """
    from rankone.live.operate.backup import restore as make

    found = make(file, db, upto=dict(map(_event, upto)), until=_seconds(until), over=over, plain=plain)
    show_positions(found)
    print(f"restored to {db}", file=sys.stderr)


def _event(text: str) -> tuple[str, int]:
    name, _, event = text.rpartition("=")
    if not name:
        raise InputError("--upto as NAME=EVENT", text, "try --upto homepage=120000")
    return name, parse_whole_number("--upto", event, example=120_000)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError("--until as a time", text, "try --until 2026-11-17T08:30:00Z") from None
    if found.tzinfo is None:
        raise InputError("a time with its zone", text, f"try --until {text}Z, for UTC")
    return found.timestamp()
