"""What a check of a database has found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """The result of one check."""

    experiment: str  # "" for the database as a whole
    check: str
    ok: bool  # nothing wrong was found
    detail: str
    checked: bool = True  # False: it could not be checked, and the detail says why

    @property
    def verdict(self) -> str:
        """The result in a word."""
        return "left out" if not self.checked else "good" if self.ok else "WRONG"
