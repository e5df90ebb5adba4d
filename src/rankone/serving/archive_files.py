"""The files of archives: rows of a journal in Parquet, exactly as the database had them, with their checksums."""

from __future__ import annotations

import functools
import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankone.errors import InputError, JournalError
from rankone.serving.journal import COLUMNS, NUMBERS
from rankone.serving.journal_reading import each_checked
from rankone.serving.storage.driver import Row
from rankone.writing import whole_file

if TYPE_CHECKING:
    import polars as pl

_BYTES = ("secret", "shown", "cross_chances", "chain")


class ArchiveFile:
    """A file of an archive, read when it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def _table(self) -> pl.DataFrame:
        import polars as pl

        try:
            table, columns = pl.read_parquet(self.path), _schema()
            newer = [pl.lit(None, kind).alias(name) for name, kind in columns.items() if name not in table.columns]
            return table.with_columns(newer).select(columns.keys())
        except FileNotFoundError:
            do = "pass the folder that `rankone archive` wrote to"
            raise InputError(f"the archive {self.path.name}", f"no such file in {self.path.parent}", do) from None
        except (pl.exceptions.PolarsError, OSError) as error:
            got = " ".join(str(error).split())[:200]
            raise JournalError(f"an archive as it was written at {self.path}", got, "take a copy of it") from error

    def tail(self, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""
        first = int(self._table["seq"][0])
        return self._table.slice(max(0, after + 1 - first), limit).rows()

    def check(self, seq: int, chain: bytes) -> bytes:
        """Check that this follows event `seq` with checksum `chain`, event by event; return its last checksum."""
        last = chain
        for _, _, last in each_checked(self.tail, seq, chain):  # noqa: B007 - the last one is returned
            pass
        return last


def write_rows(path: Path, rows: Sequence[Row], before: int, chain: bytes) -> tuple[int, str]:
    """Write rows that follow event `before` with checksum `chain`; return the file's size and checksum.

    The file is read back and checked before it appears, and it is on the disk when this returns.
    """
    import polars as pl

    content = io.BytesIO()  # Polars tells of a full disk in its own words, so it does not write to the disk
    pl.DataFrame(list(rows), schema=_schema(), orient="row").write_parquet(content)
    with whole_file(path) as part:
        part.chmod(0o600)  # whoever has an id can tell an outcome
        with part.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        if ArchiveFile(part).check(before, chain) != rows[-1][-1]:
            raise JournalError(f"to read back what was written to {path}", "something else", "look after the disk")
        size, digest = part.stat().st_size, digest_of(part)
        if path.exists() and digest_of(path) != digest:
            got = "one that is there, of another database"
            raise InputError(f"a new file {path}", got, "give each database a folder of its own")
    folder = os.open(path.parent, os.O_RDONLY)  # the name, too, must outlive a power cut
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return size, digest


def digest_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _schema() -> dict[str, type[pl.DataType]]:
    import polars as pl

    kinds: dict[str, type[pl.DataType]] = dict.fromkeys(COLUMNS, pl.String)
    kinds |= dict.fromkeys(NUMBERS, pl.Int64) | dict.fromkeys(_BYTES, pl.Binary)
    return kinds | {"chance": pl.Float64}
