"""``rankone doctor`` and ``rankone migrate``: is everything in a database as it was written, and up to date?"""

from pathlib import Path

import typer

from rankone.cli._commands import command
from rankone.cli._experiments import DB
from rankone.cli._options import JSON
from rankone.cli._tables import print_json, show_rows


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
