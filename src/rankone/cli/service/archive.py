"""``rankone archive``: old decisions of a database to Parquet files, so that it does not grow for ever."""

import dataclasses
import sys
from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_table


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
