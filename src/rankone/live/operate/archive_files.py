"""The files of archives: rows of a journal in Parquet, exactly as the database had them, with their checksums."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rankone.errors import InputError, JournalError, RankoneError
from rankone.live.fold.journal_reading import each_checked
from rankone.live.journal.events import COLUMNS, NUMBERS
from rankone.live.storage.driver import Row
from rankone.writing import PRIVATE, AlreadyThere, sync_folder, whole_file

_SCHEMA = (
    dict.fromkeys(COLUMNS, pl.String)
    | dict.fromkeys(NUMBERS, pl.Int64)
    | dict.fromkeys(("secret", "shown", "cross_chances", "chain"), pl.Binary)
    | {"chance": pl.Float64}
)


class ArchiveFile:
    """A file of an archive, read when it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def _table(self) -> pl.DataFrame:
        try:
            return pl.read_parquet(self.path).select(COLUMNS)
        except FileNotFoundError:
            do = "pass the folder that `rankone archive` wrote to"
            raise InputError(f"the archive {self.path.name}", f"no such file in {self.path.parent}", do) from None
        except (pl.exceptions.PolarsError, OSError) as error:
            got = " ".join(str(error).split())[:200]
            raise JournalError(f"an undamaged archive at {self.path}", got, "take a copy of it") from error

    def tail(self, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""
        first = int(self._table["seq"][0])
        return self._table.slice(max(0, after + 1 - first), limit).rows()

    def release(self) -> None:
        """Keep what was read in memory no longer."""
        self.__dict__.pop("_table", None)

    def check(self, seq: int, chain: bytes) -> bytes:
        """Check that this follows event `seq` with checksum `chain`, event by event; return its last checksum."""
        last = chain
        for _, _, last in each_checked(self.tail, seq, chain):  # noqa: B007 - the last one is returned
            pass
        return last


class Written(NamedTuple):
    """A file with all rows in it, on the disk."""

    size: int
    digest: str
    new: bool  # it was not there before


def write_rows(path: Path, rows: Sequence[Row], before: int, chain: bytes) -> Written:
    """Write rows that follow event `before` with checksum `chain`.

    The file is read back and checked before it appears, and it is on the disk when this returns. One that is there and
    holds the same, as an archive leaves it that was killed, is taken as it is: other programs pack otherwise, and
    another copy of the database may name it.
    """
    result = None
    if not path.exists():
        with contextlib.suppress(AlreadyThere):  # another archive was quicker
            result = _write(path, rows, before, chain)
    if result is None:
        result = _take(path, before, chain, rows[-1][-1])
    sync_folder(path.parent)  # the name, too, must outlive a power cut
    return result


def _take(path: Path, before: int, chain: bytes, last: bytes) -> Written:
    """Take a file that is there, if it leads from one checksum to the other."""
    if not leads(path, before, chain, last):
        got = "one that is there, of another database"
        raise InputError(f"a new file {path}", got, "give each database a folder of its own")
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return Written(path.stat().st_size, digest_of(path), new=False)


def leads(path: Path, before: int, chain: bytes, last: bytes | None) -> bool:
    """Return whether a file holds, whole, what follows event `before` with one checksum and ends with the other."""
    try:
        return ArchiveFile(path).check(before, chain) == last
    except RankoneError:
        return False


def _write(path: Path, rows: Sequence[Row], before: int, chain: bytes) -> Written:
    content = io.BytesIO()  # Polars tells of a full disk in its own words, so it does not write to the disk
    pl.DataFrame(list(rows), schema=_SCHEMA, orient="row").write_parquet(content)
    with whole_file(path, new=True, mode=PRIVATE) as part:
        with part.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        if ArchiveFile(part).check(before, chain) != rows[-1][-1]:
            raise JournalError(f"to read back what was written to {path}", "something else", "look after the disk")
        return Written(part.stat().st_size, digest_of(part), new=True)


def fault_of(path: Path, note: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a file of which the journal says this; None: nothing is."""
    try:
        return None if digest_of(path) == note["digest"] else f"{path.name} was changed or damaged"
    except OSError as error:
        return f"{path.name}: {error.strerror}"


def digest_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
