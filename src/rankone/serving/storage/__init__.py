"""Where journals are kept. A kind of database is a file here, behind the interface of `rankone.serving.storage.sql`;
defining the class in it is all the registration.
"""

from __future__ import annotations

from pathlib import Path

from rankone.errors import InputError
from rankone.registry import import_files
from rankone.serving.storage.sql import Storage

DURABILITIES = ("full", "normal", "off")
_PLAIN_FILE = "sqlite"


def known_storages() -> dict[str, type[Storage]]:
    """Return every kind of database by name.

    >>> sorted(known_storages())
    ['postgres', 'sqlite']
    """
    import_files(__name__)
    return {kind.name: kind for kind in Storage.__subclasses__()}


def open_storage(db: str | Path, durability: str = "full", patience: float = 30.0, read_only: bool = False) -> Storage:
    """Open the database of an address (``postgresql://...``), or the SQLite file of a path."""
    if durability not in DURABILITIES:
        raise InputError(f"a durability of {', '.join(DURABILITIES)}", durability, "leave it out for 'full'")
    address, kinds = str(db), known_storages()
    for kind in kinds.values():
        if kind.takes(address):
            return kind(address, durability, patience, read_only)
    scheme, is_address, _ = address.partition("://")
    if is_address or address in ("", ":memory:"):
        known = " or ".join(f"{kind.schemes[0]}://" for kind in kinds.values() if kind.schemes)
        got = f"one that begins with {scheme}://" if is_address else address  # the rest may hold a password
        raise InputError(f"a file or a {known} address", got, "pass db='rankone.db', say")
    return kinds[_PLAIN_FILE](address, durability, patience, read_only)


__all__ = ["DURABILITIES", "Storage", "known_storages", "open_storage"]
