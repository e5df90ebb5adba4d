"""Writing files, the one way: their directory is made, errors are told in one sentence, and they appear whole.

`write_file` and `write_table` take what is to be written, `whole_file` names a place to write it piece by piece. Only
what grows for as long as a program runs is opened by itself, inside `writing` or `writing_under`: the finished runs of
a study, and the rows of a log that cannot be read.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rankone.errors import InputError, StorageError

if TYPE_CHECKING:
    import polars as pl

PRIVATE = 0o600  # the mode of journals and what is made of them: whoever has the id of a decision can tell its outcome


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the directory of a file, and say in one sentence when something cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError(f"to write {path}", error.strerror or str(error), "make room, or write elsewhere") from error


@contextlib.contextmanager
def writing_under(directory: Path) -> Iterator[None]:
    """Make a directory of results, and say in one sentence when something under it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"a directory {directory}", "a file there, or above it", "name another directory") from None
    except (OSError, StorageError) as error:
        got = error.got if isinstance(error, StorageError) else error.strerror or str(error)
        do = "make room, then start again with the same directory: what was finished is kept there"
        raise StorageError(f"to write under {directory}", got, do) from error


def write_file(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write a whole file, a text in UTF-8; a new one with this mode, less the umask.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "deep" / "note.txt"
    >>> write_file(file, "all of it")
    >>> file.read_text()
    'all of it'
    """
    with whole_file(path, mode=mode) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table whole, as Parquet or CSV: the ending of the path says which."""
    content = io.BytesIO()  # Polars tells of a full disk in its own words, so it does not write to the disk
    if path.suffix == ".parquet":
        table.write_parquet(content)
    else:
        table.write_csv(content)
    write_file(path, content.getvalue())


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk, too: those of files that must outlive a power cut."""
    with writing(folder):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


class AlreadyThere(InputError):
    """A file that was to be new is there."""


@contextlib.contextmanager
def whole_file(path: Path, new: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """Yield another place to write a file to: whoever looks at its own place sees all of it or nothing.

    The file keeps the permissions it had, from the first byte on; links stay links, pipes and devices are written to.
    One that was not there gets this mode, less the umask: `PRIVATE` for what is nobody else's business.
    One that shall be `new` replaces nothing, not even what somebody else wrote meanwhile: AlreadyThere.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with writing(path):
            yield path
        return
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")
    try:
        with writing(path):
            kept = path.stat().st_mode & 0o777 if path.exists() else None
            part.touch(mode if kept is None else kept, exist_ok=False)
            if kept is not None:
                part.chmod(kept)
            yield part
            if new:
                _appear(part, path)
            else:
                part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what went wrong has been said
            part.unlink()


def _appear(part: Path, path: Path) -> None:
    """Give a file its name, unless there is one of that name: a link, which only one of two can make."""
    there = AlreadyThere(f"a new file {path}", "one that is there", "name another")
    try:
        os.link(part, path)
    except FileExistsError:
        raise there from None
    except OSError:  # not every file system has links
        if path.exists():
            raise there from None
        part.replace(path)
