"""``rankone doctor``: is everything in a database as it was written?"""

from __future__ import annotations

import json
from pathlib import Path

import typer

from rankone.cli._commands import SERVICE, command
from rankone.cli._experiments import DB


@command("doctor", example="rankone.db", topic=SERVICE)
def doctor(
    db: str = DB,
    archive: Path | None = typer.Option(None, help="Folder with archives of this database, to check them too."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else."),
) -> None:
    """Check pages, checksums and snapshots of a database and replay its journals; exit code 1 if something is wrong."""
    import polars as pl

    from rankone.cli._tables import show_table
    from rankone.live.operate.doctor import examine

    findings = examine(db, archive)
    if as_json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    else:
        rows = [(found.experiment, found.check, found.verdict, found.detail) for found in findings]
        show_table(pl.DataFrame(rows, schema=["experiment", "check", "verdict", "finding"], orient="row"))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
