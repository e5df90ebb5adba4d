"""``rankone migrate``: bring the tables of an older release up to date."""

from __future__ import annotations

from rankone.cli._commands import SERVICE, command
from rankone.cli._experiments import DB


@command("migrate", example="postgresql://owner@db1/shop", topic=SERVICE)
def migrate(db: str = DB) -> None:
    """Bring the tables of a database up to date, as every program that writes does when it opens it.

    Needed only where those programs may not change tables: run it once after an upgrade, as the owner of the tables.
    """
    from rankone.serving import Database

    with Database(db, read_only=True) as database:  # a typo must not create a database
        before = database.schema
    with Database(db) as database:
        after, where = database.schema, database.where
    print(f"{where}: schema {before}, now {after}." if before < after else f"{where}: schema {after}, nothing to do.")
