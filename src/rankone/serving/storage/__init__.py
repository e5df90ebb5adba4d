"""Where journals are kept. One database is one file here, behind the interface of `rankone.serving.storage.sql`."""

from __future__ import annotations

from pathlib import Path

from rankone.errors import InputError
from rankone.serving.storage.sql import Storage

DURABILITIES = ("full", "normal", "off")


def open_storage(db: str | Path, durability: str = "full", patience: float = 30.0, read_only: bool = False) -> Storage:
    """Open a SQLite file, or a PostgreSQL database where `db` begins with ``postgresql://``."""
    if durability not in DURABILITIES:
        raise InputError(f"a durability of {', '.join(DURABILITIES)}", durability, "leave it out for 'full'")
    text = str(db)
    if text.startswith(("postgresql://", "postgres://")):
        from rankone.serving.storage.postgres import PostgresStorage

        return PostgresStorage(text, durability, patience, read_only)
    if "://" in text or text in ("", ":memory:"):
        raise InputError("a file or a postgresql:// address", db, "pass db='rankone.db', say")
    from rankone.serving.storage.sqlite import SQLiteStorage

    return SQLiteStorage(Path(text), durability, patience, read_only)


__all__ = ["DURABILITIES", "Storage", "open_storage"]
