"""The rows of a log as they are, for what adds columns to them: a table keeps all its columns, and stays on disk.

Logs of other formats have no row per impression; they become one (`read_lists`), in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from rankone.clicks.formats.table import Table
from rankone.clicks.logs.columns import find_columns
from rankone.clicks.logs.delimited import guessed_separator
from rankone.clicks.logs.reading import format_of, read_lists
from rankone.clicks.logs.source import Paths, Source, find_files
from rankone.errors import InputError

_PARQUET = b"PAR1"
_OPTIONS = ("query", "item", "position", "clicked", "separator")


class LogRows(NamedTuple):
    """One row per impression, and which column holds what (item, position, clicked and, if there is one, query)."""

    frame: pl.LazyFrame
    columns: dict[str, str]


def log_rows(paths: Paths, format: str | None = None, *, positions: int | None = None, **options: Any) -> LogRows:
    """Return the rows of a log; the options are those of its format, and of lists that are no table so many positions.

    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp(), "log.csv")
    >>> _ = log.write_text("doc,position,clicked,price\\na,1,0,9.5\\n")
    >>> log_rows(log, item="doc").columns
    {'item': 'doc', 'position': 'position', 'clicked': 'clicked'}
    """
    if format_of(paths, format) is not Table:
        return LogRows(
            read_lists(paths, format, positions=positions, **options).lazy(),
            {"query": "query", "item": "item", "position": "position", "clicked": "clicked"},
        )
    for name in options:
        if name not in _OPTIONS:
            raise InputError(f"{', '.join(_OPTIONS)} as options of a table's rows", name, "leave it out")
    frame = _scan(paths, options.get("separator"))
    header = frame.collect_schema().names()
    lower = [name.casefold() for name in header]
    if "impressions" in lower or "shown" in lower:
        got = "an aggregated log, whose rows are counts"
        raise InputError("a table with one row per impression", got, "weigh the rows that were counted")
    named = {"query": None, "item": "item", "position": "position", "clicked": "clicked"}
    return LogRows(frame, find_columns(header, {what: options.get(what, usual) for what, usual in named.items()}))


def _scan(paths: Paths, separator: str | None) -> pl.LazyFrame:
    files = find_files(paths)
    heads = [Source(file).head() for file in files]
    try:
        if all(head.startswith(_PARQUET) for head in heads):
            frame = pl.scan_parquet(files)
        else:
            guessed = guessed_separator(heads[0].split(b"\n", 1)[0].rstrip(b"\r"))
            frame = pl.scan_csv(files, separator={"tab": "\t"}.get(separator or "", separator) or guessed)
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        got = str(error).partition("\n")[0]
        raise InputError(f"{files[0].name} as a table", got, "write it as Parquet, or correct it") from None
    return frame
