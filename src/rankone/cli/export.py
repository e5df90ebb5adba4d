"""``rankone export``: all decisions of an experiment as a file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    db: str = typer.Argument(..., help="SQLite file or postgresql:// address."),
    name: str = typer.Argument(..., help="Name of the experiment."),
    out: Path = typer.Option(..., "--out", help="File to write: .parquet, .csv or .jsonl."),
) -> None:
    """Write one row per decision: pair, time, outcome."""
    from rankone.serving import Database
    from rankone.serving.export import decisions_table, write_table

    with Database(db, read_only=True) as database:
        table = decisions_table(database, name)
    write_table(table, out)
    print(f"{len(table)} decisions of '{name}' written to {out}", file=sys.stderr)
