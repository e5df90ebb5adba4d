"""Where journals are kept. A kind of database is a file here, behind the interface of `rankone.live.storage.sql`;
defining the class in it is all the registration.
"""

import os
from pathlib import Path

from rankone.errors import InputError
from rankone.live.storage.sql import STORAGES, Storage

DURABILITIES = ("full", "normal", "off")
_PLAIN_FILE = "sqlite"


def open_storage(db: str | Path, durability: str = "full", patience: float = 30.0, read_only: bool = False) -> Storage:
    """Open the database of an address (``postgresql://...``), or the SQLite file of a path."""
    if durability not in DURABILITIES:
        raise InputError(f"a durability of {', '.join(DURABILITIES)}", durability, "leave it out for 'full'")
    return _kind(str(db))(str(db), durability, patience, read_only)


def is_file(db: str | Path) -> bool:
    """Return whether a database is a file of this machine.

    >>> is_file("rankone.db"), is_file("postgresql://db1/shop")
    (True, False)
    """
    return _kind(str(db)) is STORAGES.known()[_PLAIN_FILE]


def shown(db: str | Path) -> str:
    """Return an address as people may see it, also that of a database that is away.

    >>> shown("host=db1 dbname=shop password=secret"), shown("rankone.db")
    ('postgresql://db1/shop', 'rankone.db')
    """
    return _kind(str(db)).shown(str(db))


def _kind(address: str) -> type[Storage]:
    kinds = STORAGES.known()
    for kind in kinds.values():
        if kind.takes(address):
            return kind
    scheme, is_address, _ = address.partition("://")
    if is_address or address in ("", ":memory:"):
        known = " or ".join(f"{kind.schemes[0]}://" for kind in kinds.values() if kind.schemes)
        got = f"one that begins with {scheme}://" if is_address else address  # the rest may hold a password
        raise InputError(f"a file or a {known} address", got, "try db='rankone.db'")
    return kinds[_PLAIN_FILE]


__all__ = ["DURABILITIES", "STORAGES", "Storage", "is_file", "open_storage", "shown"]


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
