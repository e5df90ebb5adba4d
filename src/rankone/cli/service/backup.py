"""``rankone backup``: a whole copy of a database, made while services write to it."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from rankone.cli._commands import SERVICE, command
from rankone.cli._experiments import DB, show_positions


@command("backup", example="rankone.db monday.backup", topic=SERVICE)
def backup(
    db: str = DB,
    file: Path = typer.Argument(..., help="File to write."),
    over: bool = typer.Option(False, "--over", help="Replace a backup that is there."),
) -> None:
    """Copy a SQLite database to a file, whole, while services go on; for PostgreSQL take its own pg_dump.

    Prints how far each journal goes: `rankone restore --upto` takes such a number.
    """
    from rankone.live.operate.backup import backup as make

    found = make(db, file, over=over)
    show_positions(found)
    print(f"written to {file}", file=sys.stderr)
