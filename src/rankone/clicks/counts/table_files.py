"""A file of counts or of impressions as a table: CSV (any usual separator), TSV, Parquet, JSON lines; plain or gzip."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import polars as pl

from rankone.clicks.counts.table_text import decoded, split_head, text_frame
from rankone.clicks.logs.source import Source, find_files
from rankone.errors import InputError

_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_ENDINGS = "a .csv, .tsv, .parquet or .jsonl file with a header"


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table; the columns of a text file are texts, so that a level 01 stays 01.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "ab.csv")
    >>> _ = file.write_text("headline;shown;clicked\\nA;10;3\\n")
    >>> read_table(file).rows()
    [('A', '10', '3')]
    """
    files = find_files(os.fspath(path))
    if len(files) > 1:
        raise InputError("one file", f"{len(files)} of them", "put their rows into one file")
    file = files[0]
    head = Source(file).head()
    if not head.strip():
        raise InputError(f"a table in {file.name}", "an empty file", f"name {_ENDINGS}")
    try:
        table = _read(file, head)
    except (OSError, csv.Error, pl.exceptions.PolarsError) as error:
        got = str(error).partition("\n")[0]
        raise InputError(f"a table in {file.name}", got, f"name {_ENDINGS}") from None
    table = table.rename({name: name.strip() for name in table.columns if name.strip() and name != name.strip()})
    if table.is_empty():
        raise InputError(f"rows in {file.name}", f"nothing below the header {', '.join(table.columns)}", "count some")
    return table


def header_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of a table's columns; none of what is no single table with a header of names.

    >>> header_of("no such file")
    []
    """
    file = Path(path)
    if not file.is_file():
        return []
    head = Source(file).head()
    if head.startswith(_PARQUET):
        try:
            return list(pl.read_parquet_schema(file))
        except pl.exceptions.PolarsError:
            return []
    try:
        fields = split_head(decoded(head[: head.rfind(b"\n") + 1] or head, file.name))[0]
    except (InputError, csv.Error):
        return []
    return [] if len(fields) < 2 or any(field.isdigit() for field in fields) else fields


def _read(file: Path, head: bytes) -> pl.DataFrame:
    if head.startswith(_PARQUET):
        return pl.read_parquet(file)
    if head.startswith(_ZIP):
        raise InputError(f"a table in {file.name}", "a workbook or an archive", "save its sheet as CSV")
    source = Source(file)
    data = source.whole()
    if source.broken:
        raise InputError(f"a table in {file.name}", source.broken, "copy the file again")
    return pl.read_ndjson(data) if head.lstrip().startswith(b"{") else text_frame(data, file.name)
