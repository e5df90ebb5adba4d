"""Writing files: their directory is made, errors are told in one sentence, and what must not be torn appears whole."""

from __future__ import annotations

import contextlib
import secrets
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
    """Yield another place to write a file to: whoever looks at its own place sees all of it or nothing.

    The file keeps the permissions it had, from the first byte on; links stay links, pipes and devices are written to.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with writing(path):
            yield path
        return
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")
    try:
        with writing(path):
            mode = path.stat().st_mode & 0o777 if path.exists() else None
            part.touch(0o666 if mode is None else mode, exist_ok=False)
            if mode is not None:
                part.chmod(mode)
            yield part
            part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what went wrong has been said
            part.unlink()
