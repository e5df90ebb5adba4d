"""Rows of delimited text with a header, as columns of texts; a row that cannot be split goes to the collector.

A block whose every line has the right number of fields is split by Polars; any other is split line by line. A row is
one line: quoted fields may hold separators and doubled quotes, but no line ends.
"""

import csv
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from rankone.clicks.logs.collector import Collector
from rankone.clicks.logs.long_tables import NOT_ENCODED
from rankone.clicks.logs.source import Block, Oversized, Source
from rankone.errors import InputError

SEPARATORS = (",", "\t", ";", "|")


def guessed_separator(header: bytes) -> str:
    """Return the separator that occurs most often in a header."""
    return max(SEPARATORS, key=lambda separator: header.count(separator.encode()))


def split_line(line: bytes, separator: str, encoding: str) -> list[str] | str:
    """Return the fields of a line, or the reason why it has none."""
    try:
        text = line.decode(encoding)
        if "\0" in text:
            return "the row holds a NUL"
        return next(csv.reader([text], delimiter=separator, strict=True), [])
    except UnicodeDecodeError:
        return f"{NOT_ENCODED}{encoding}"
    except csv.Error:
        return "a quote is not closed"


def first_names(head: bytes, separator: str | None = None) -> list[str]:
    """Return the names on the first line of a file; none where it cannot be split."""
    first = head.split(b"\n", 1)[0].rstrip(b"\r")
    fields = split_line(first, separator or guessed_separator(first), "latin-1")
    return [] if isinstance(fields, str) else [field.strip() for field in fields]


def header_fields(line: bytes, separator: str, encoding: str) -> list[str]:
    """Return the names in a header."""
    fields = split_line(line, separator, encoding)
    if isinstance(fields, str):
        do = "name the encoding (encoding=latin-1, for example) and the separator (separator=tab, for example)"
        raise InputError("a header with the names of the columns", fields, do)
    return [name.strip() for name in fields]


def batches(
    source: Source, collector: Collector, columns: list[str], separator: str | None, encoding: str
) -> Iterator[pl.DataFrame]:
    """Yield the named columns as texts, with the line of each row in ``line``; count rows and set bad ones aside."""
    header: list[str] = []
    for block in source.blocks():
        if isinstance(block, Oversized):
            collector.oversized(block)
            continue
        if not header:
            end = block.data.index(b"\n") + 1
            first = block.data[:end].rstrip(b"\r\n")
            separator = separator or guessed_separator(first)
            header = header_fields(first, separator, encoding)
            block = Block(block.data[end:], block.first_line + 1)
        assert separator is not None
        fields = _fast_fields(block, header, separator) if encoding == "utf-8" else None
        if fields is None:
            fields = _slow_fields(block, header, separator, encoding, collector)
        collector.report.rows += len(fields)
        yield fields.select("line", *columns)
        collector.judge()
        collector.show_progress(source)


def _fast_fields(block: Block, header: list[str], separator: str) -> pl.DataFrame | None:
    """Split a block whose every line is plain and complete; None if it is not such a block."""
    data = np.frombuffer(block.data, np.uint8)
    if not len(data) or b'"' in block.data or b"\0" in block.data:
        return None
    ends = np.flatnonzero(data == 10)
    separators = np.searchsorted(np.flatnonzero(data == ord(separator)), ends)
    if (np.diff(separators, prepend=0) != len(header) - 1).any() or len(header) == 1:
        return None
    try:
        fields = pl.read_csv(block.data, has_header=False, separator=separator, quote_char=None, infer_schema=False)
    except pl.exceptions.PolarsError:  # not UTF-8
        return None
    fields.columns = distinct(header, ["line"])
    return fields.fill_null("").with_columns(line=np.arange(block.first_line, block.first_line + len(fields)))


def _slow_fields(block: Block, header: list[str], separator: str, encoding: str, collector: Collector) -> pl.DataFrame:
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(block.data.split(b"\n")[:-1], block.first_line):
        line = line.removesuffix(b"\r")
        if not line:
            collector.report.add("blank lines", 1)
            continue
        fields = split_line(line, separator, encoding)
        if isinstance(fields, list) and len(fields) == len(header):
            rows.append(fields)
            lines.append(number)
            continue
        collector.report.rows += 1
        collector.bad(number, fields if isinstance(fields, str) else "wrong number of fields", line)
    table = pl.DataFrame(rows, schema=dict.fromkeys(distinct(header, ["line"]), pl.String), orient="row")
    return table.with_columns(pl.Series("line", lines, dtype=pl.Int64))


def distinct(fields: list[str], taken: Sequence[str] = ()) -> list[str]:
    """Return names of which none comes twice: unnamed, repeated and taken ones are called by their place.

    >>> distinct(["headline", "", "n", "n"])
    ['headline', 'column 2', 'n (column 3)', 'n (column 4)']
    """

    def named(field: str, index: int) -> str:
        if field and field not in taken and fields.count(field) == 1:
            return field
        return f"{field} (column {index})" if field else f"column {index}"

    return [named(field, index) for index, field in enumerate(fields, 1)]
