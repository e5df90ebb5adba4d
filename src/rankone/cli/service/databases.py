"""``rankone archive``, ``backup``, ``restore``, ``doctor``, ``migrate``: keep a database small, copied and whole."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_rows, show_table, utc
from rankone.errors import InputError
from rankone.specs import parse_whole_number

if TYPE_CHECKING:
    from rankone.live.storage.sqlite_backup import Position


@command("archive", example="rankone.db --to archives --older-than 30d")
def archive(
    db: str = DB,
    to: Path = typer.Option(..., help="Folder for the files."),
    older_than: str = typer.Option(..., help="Age of what is moved, such as 90d, 36h or seconds."),
    name: list[str] = typer.Option([], "--experiment", help="Only this experiment; repeatable. Default: all."),
    as_json: bool = JSON,
) -> None:
    """Move old decisions to Parquet files while services run; totals, evidence and open decisions stay.

    The experiment is not affected. `export`, `analyse` and `doctor` read the files with --archive.
    """
    import polars as pl

    from rankone.live import Database
    from rankone.live.operate.archive import archive as move
    from rankone.specs import parse_duration

    seconds = parse_duration("--older-than", older_than)
    with Database(db, read_only=True) as database:  # a typo must not create a database
        names = [each for each in name if database.number(each)] or database.names()
    moved = []
    with Database(db) as database:
        for each in names:
            parts = move(database, each, to, seconds)
            moved += [dataclasses.asdict(part) | {"file": part.file.name} for part in parts]
    if as_json:
        print_json(moved)
    elif moved:
        show_table(pl.DataFrame(moved))
        print(f"Written to {to}.", file=sys.stderr)
    else:
        print("Nothing is that old.", file=sys.stderr)


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


@command("doctor", example="rankone.db")
def doctor(
    db: str = DB,
    archive: Path | None = typer.Option(None, help="Folder with archives of this database, to check them too."),
    as_json: bool = JSON,
) -> None:
    """Check pages, checksums and snapshots of a database and replay its journals; exit code 1 if something is wrong."""
    from rankone.live.operate.doctor import examine

    findings = examine(db, archive)
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        rows = [(each.experiment, each.check, each.verdict, each.detail) for each in findings]
        show_rows(rows, ("experiment", "check", "verdict", "finding"))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@command("migrate", example="postgresql://owner@db1/shop")
def migrate(db: str = DB) -> None:
    """Bring the tables of a database up to date, as every program that writes does when it opens it.

    Needed only where those programs may not change tables: run it once after an upgrade, as the owner of the tables.
    """
    from rankone.live import Database
    from rankone.live.storage import shown
    from rankone.live.storage.schema import MIGRATIONS, OlderSchema

    newest = len(MIGRATIONS)
    try:
        Database(db, read_only=True).close()  # a typo must not create a database
        print(f"{shown(db)} is up to date: schema {newest}.")
    except OlderSchema as older:
        Database(db).close()
        print(f"{shown(db)}: schema {older.found}, now {newest}.")
