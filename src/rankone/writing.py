"""Writing files: their directory is made, errors are told in one sentence, and what must not be torn appears whole."""

from __future__ import annotations

import contextlib
import os
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
        raise StorageError(f"to write {path}", error.strerror or str(error), "make room, or write elsewhere") from error


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield another place to write a file to: whoever looks at its own place sees all of it or nothing."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing(path):
            yield part
            part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what went wrong has been said
            part.unlink()
