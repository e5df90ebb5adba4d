"""``rankone migrate``: bring the tables of an older release up to date."""

from __future__ import annotations

from rankone.cli._commands import SERVICE, command
from rankone.cli._experiments import DB


@command("migrate", example="postgresql://owner@db1/shop", topic=SERVICE)
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
        print(f"{shown(db)}: schema {newest}, nothing to do.")
    except OlderSchema as older:
        Database(db).close()
        print(f"{shown(db)}: schema {older.found}, now {newest}.")
