"""Is it a database? So that commands can take a file of counts or a database in the same place."""

from __future__ import annotations

import os
from pathlib import Path

_SQLITE = b"SQLite format 3\x00"


def is_database(name: str | os.PathLike[str]) -> bool:
    """Whether a name is the address of a PostgreSQL database, or that of a file that SQLite wrote.

    >>> is_database("postgresql://localhost/rankone"), is_database("no-such-file.db")
    (True, False)
    """
    if isinstance(name, str) and name.startswith(("postgresql://", "postgres://")):
        return True
    path = Path(name)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
