"""Writing pictures and pages to disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rankone.errors import StorageError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the directory of a file, and say in one sentence when something cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError(f"to write {path}", error.strerror or str(error), "make room, or save elsewhere") from error
