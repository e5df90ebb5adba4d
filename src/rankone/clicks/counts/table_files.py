"""A file of counts or of impressions as a table: CSV (any usual separator), TSV, Parquet, JSON lines, a workbook."""

import codecs
import contextlib
import csv
import io
import itertools
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from rankone.clicks.logs.delimited import distinct, guessed_separator
from rankone.clicks.logs.source import PARQUET, Source, find_files
from rankone.errors import InputError, MissingExtra
from rankone.wording.lists import some_of

_WORKBOOK = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .ods, and the older .xls
_ENDINGS = "use a .csv, .tsv, .xlsx, .parquet or .jsonl file with a header"
_STANDARD_INPUT = "-"


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a file, or from standard input (``-``); of a workbook the first sheet.

    Columns of a text file or a workbook are texts, so that a level 01 stays 01.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "ab.csv")
    >>> _ = file.write_text("headline;shown;clicked\\nA;10;3\\n")
    >>> read_table(file).rows()
    [('A', '10', '3')]
    """
    if os.fspath(path) == _STANDARD_INPUT:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "standard input")
            file.write_bytes(sys.stdin.buffer.read())
            return read_table(file)
    files = find_files(os.fspath(path))
    if len(files) > 1:
        raise InputError("These are several files:", some_of([file.name for file in files]), "put their rows into one")
    file = files[0]
    head = Source(file).head()
    if not head.strip():
        raise InputError("The file is empty:", file.name, _ENDINGS)
    try:
        table = _read(file, head)
    except (OSError, csv.Error, pl.exceptions.PolarsError) as error:
        got = str(error).partition("\n")[0]
        raise InputError(f"Cannot read {file.name} as a table:", got, _ENDINGS) from None
    table = table.rename({name: name.strip() for name in table.columns if name.strip() and name != name.strip()})
    if table.is_empty():
        raise InputError("The file has a header but no rows.", "", "")
    return table


@contextlib.contextmanager
def naming_lines(source: object) -> Iterator[None]:
    """Let errors about a row of a table name the line of the file where it stands, as editors count."""
    try:
        yield
    except InputError as error:
        row = re.match(r"Row (\d+):", error.expected)
        place = _place_of(source, int(row[1])) if row and isinstance(source, str | os.PathLike) else ""
        if not row or not place:
            raise
        raise InputError(f"{place}:{error.expected[row.end() :]}", error.got, error.do) from None


def _place_of(source: str | os.PathLike[str], row: int) -> str:
    """Say where a row of a table stands in its file; empty where nobody counts lines."""
    if os.fspath(source) == _STANDARD_INPUT:
        return ""
    file = find_files(os.fspath(source))[0]
    head = Source(file).head()
    if head.startswith(PARQUET) or head.lstrip().startswith(b"{"):
        return ""
    is_sheet = head.startswith(_WORKBOOK)
    text = decoded(_sheet_text(file) if is_sheet else Source(file).whole(), file.name)
    _, separator, below = split_head(text)
    rows, seen, first = csv.reader(io.StringIO(below), delimiter=separator), -1, 1
    for fields in rows:
        seen += any(map(str.strip, fields))
        if seen == row:
            above = text.count("\n") - below.count("\n")
            return f"{'Row' if is_sheet else 'Line'} {above + first} of {file.name}"
        first = rows.line_num + 1
    return ""


def header_of(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of a table's columns; none of what is no single table with a header of names.

    >>> header_of("no such file")
    []
    """
    file = Path(path)
    if not file.is_file():
        return []
    head = Source(file).head()
    try:
        if head.startswith(PARQUET):
            return list(pl.read_parquet_schema(file))
        fields = split_head(decoded(head[: head.rfind(b"\n") + 1] or head, file.name))[0]
    except (InputError, csv.Error, pl.exceptions.PolarsError):
        return []
    return [] if len(fields) < 2 or any(field.isdigit() for field in fields) else fields


def _read(file: Path, head: bytes) -> pl.DataFrame:
    if head.startswith(PARQUET):
        return pl.read_parquet(file)
    if head.startswith(_WORKBOOK):  # as the text file that a program would export: its header is found in the same way
        return text_frame(_sheet_text(file), file.name)
    source = Source(file)
    data = source.whole()
    if source.broken:
        raise InputError(f"Cannot read {file.name}:", source.broken, "copy the file again")
    return pl.read_ndjson(data) if head.lstrip().startswith(b"{") else text_frame(data, file.name)


def _sheet_text(file: Path) -> bytes:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra(f"Reading the workbook {file.name} (a CSV file needs nothing)", "excel") from None
    try:
        sheet = fastexcel.read_excel(file).load_sheet(0, header_row=None, dtypes="string")
    except fastexcel.FastExcelError:
        raise InputError("This is no workbook that can be read:", file.name, "save the sheet as CSV") from None
    text: str = sheet.to_polars().write_csv(include_header=False)
    return text.encode()


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR_LINE = re.compile(r"""\s*"?sep=(.)"?[^\S\n]*\r?\n""", re.IGNORECASE)  # Excel's own way to name it
_MOST_ABOVE = 100  # lines in which the header is looked for
_NUMBER = re.compile(r"\s*[-+]?\d[\d.,]*\s*")


def decoded(data: bytes, name: str) -> str:
    """Return a text in UTF-8, UTF-16 (with its mark) or, where it is neither, as Windows writes it in the West.

    >>> decoded("Grüße".encode("latin-1"), "ab.csv"), decoded(b"\\xef\\xbb\\xbfa,b", "ab.csv")
    ('Grüße', 'a,b')
    """
    marked = data.startswith(_UTF_16)
    if b"\0" in data and not marked:
        raise InputError("This is neither text nor Parquet:", name, _ENDINGS)
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise InputError("Unknown encoding:", name, "save it in UTF-8")


def split_head(text: str) -> tuple[list[str], str, str]:
    """Return the names in the header, the separator, and the text from the header on.

    >>> split_head("sep=;\\nheadline;n;n;\\nA;1;2;3\\n")[:2]
    (['headline', 'n (column 2)', 'n (column 3)', 'column 4'], ';')
    """
    named = _SEPARATOR_LINE.match(text)
    text = (text[named.end() :] if named else text).lstrip("\r\n")
    text = _from_header(text, named[1] if named else None)
    separator = named[1] if named else guessed_separator(text.partition("\n")[0].encode())
    fields = [field.strip() for field in next(csv.reader(io.StringIO(text), delimiter=separator), [])]
    return distinct(fields), separator, text


def _from_header(text: str, separator: str | None) -> str:
    """Leave out what programs write above a table: blank lines, a title, comments (#), the time of the report.

    The header is the first line with as many fields as most rows that has names in more than half of them and is no
    comment. Where that one holds a number, the first line that is not blank is the header.
    """
    rows: list[tuple[int, list[str]]] = []  # where each of the first lines begins, and its fields
    start = 0
    for line in itertools.islice(io.StringIO(text, newline=""), _MOST_ABOVE):
        mark = separator or guessed_separator(line.encode())
        fields = [field.strip() for field in next(csv.reader([line.rstrip("\r\n")], delimiter=mark), [])]
        if any(fields):
            rows.append((start, fields))
        start += len(line)
    if not rows:
        return text
    usual = Counter(len(fields) for _, fields in rows if len(fields) > 1)
    width = max(usual, key=lambda size: (usual[size], size), default=0)
    for start, fields in rows:
        comment = fields[0].startswith("#") and fields[0] != "#"
        if len(fields) >= width and 2 * sum(map(bool, fields)) > width and not comment:
            return text[rows[0][0] if any(map(_NUMBER.fullmatch, fields)) else start :]
    return text[rows[0][0] :]


def text_frame(data: bytes, name: str) -> pl.DataFrame:
    """Return the rows of a delimited text, all of them texts; blank lines are skipped, and a footer.

    >>> text_frame(b"headline;shown\\n\\nA;10\\n;\\n", "ab.csv").rows()
    [('A', '10')]
    """
    names, separator, text = split_head(decoded(data, name))
    if 2 * sum(_NUMBER.fullmatch(field) is not None for field in names) >= len(names):
        do = f"put the names of the columns on the first line of {name}: headline,image,shown,clicked"
        raise InputError("The first line is no header:", ", ".join(names), do)
    try:
        table = pl.read_csv(text.encode(), infer_schema=False, separator=separator)
    except pl.exceptions.ComputeError as error:
        if "more fields" not in str(error):
            raise
        raise _too_many(text, separator, len(names), name, decoded(data, name).count("\n") - text.count("\n")) from None
    table.columns = names
    filled = pl.sum_horizontal((pl.all().fill_null("").str.strip_chars() != "").cast(pl.Int64))
    whole = filled > 1 if len(names) > 2 else filled > 0  # what stands alone below the last row is a footer
    last = table.select(pl.int_range(pl.len()).filter(whole).max()).item()
    kept = table.head(0 if last is None else last + 1).filter(filled > 0)
    return _without_copies(kept.select(name for name in names if not name.startswith("column ") or kept[name].count()))


def _without_copies(table: pl.DataFrame) -> pl.DataFrame:
    """Of columns with one name and the same contents keep the first, by its name."""
    kept: dict[str, str] = {}
    for name in table.columns:
        plain = name.partition(" (column ")[0]
        alike = [other for other in table.columns if other.partition(" (column ")[0] == plain]
        if all(table[other].equals(table[alike[0]]) for other in alike):
            kept.setdefault(plain, name)
        else:
            kept[name] = name
    return table.select(pl.col(name).alias(called) for called, name in kept.items())


def _too_many(text: str, separator: str, fields: int, name: str, above: int) -> InputError:
    rows, first = csv.reader(io.StringIO(text), delimiter=separator), 1
    for row in rows:
        if len(row) > fields:
            do = "put fields that hold a separator in quotes, and write 12000 rather than 12,000"
            return InputError(f"Line {above + first} of {name} has {len(row)} fields, the header {fields}.", "", do)
        first = rows.line_num + 1
    return InputError(f"A row of {name} has more than {fields} fields.", "", "check its separators")
