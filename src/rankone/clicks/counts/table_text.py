"""The text of a table as people's programs write it: encodings, a line that names the separator, blank lines, names."""

from __future__ import annotations

import codecs
import csv
import io
import re

import polars as pl

from rankone.clicks.logs.delimited import guessed_separator
from rankone.errors import InputError

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR_LINE = re.compile(r"""\s*"?sep=(.)"?[^\S\n]*\r?\n""", re.IGNORECASE)  # Excel's own way to name it
_NUMBER = re.compile(r"\s*[-+]?\d[\d.,]*\s*")


def decoded(data: bytes, name: str) -> str:
    """Return a text in UTF-8, UTF-16 (with its mark) or, where it is neither, as Windows writes it in the West.

    >>> decoded("Grüße".encode("latin-1"), "ab.csv"), decoded(b"\\xef\\xbb\\xbfa,b", "ab.csv")
    ('Grüße', 'a,b')
    """
    try:
        if data.startswith(_UTF_16):
            return data.decode("utf-16")
        if b"\0" in data:
            raise InputError(f"a table in {name}", "neither text nor Parquet", "name a text or Parquet file")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data.decode("cp1252")
    except UnicodeDecodeError:
        raise InputError(f"a table in {name}", "text in an unknown encoding", "save it in UTF-8") from None


def split_head(text: str) -> tuple[list[str], str, str]:
    """Return the names in the header, the separator, and the text from the header on.

    >>> split_head("sep=;\\nheadline;n;n;\\nA;1;2;3\\n")[:2]
    (['headline', 'n (column 2)', 'n (column 3)', 'column 4'], ';')
    """
    named = _SEPARATOR_LINE.match(text)
    text = (text[named.end() :] if named else text).lstrip("\r\n")
    while text.partition("\n")[0].strip(" ,;|\r\t") == "" and "\n" in text:  # blank lines on top
        text = text.partition("\n")[2]
    separator = named[1] if named else guessed_separator(text.partition("\n")[0].encode())
    fields = [field.strip() for field in next(csv.reader(io.StringIO(text), delimiter=separator), [])]
    return distinct(fields), separator, text


def distinct(fields: list[str]) -> list[str]:
    """Return names of which none comes twice: unnamed and repeated ones are called by their place."""
    return [
        field if field and fields.count(field) == 1 else f"{field} (column {place})" if field else f"column {place}"
        for place, field in enumerate(fields, 1)
    ]


def text_frame(data: bytes, name: str) -> pl.DataFrame:
    """Return the rows of a delimited text, all of them texts; blank lines are skipped.

    >>> text_frame(b"headline;shown\\n\\nA;10\\n;\\n", "ab.csv").rows()
    [('A', '10')]
    """
    names, separator, text = split_head(decoded(data, name))
    if 2 * sum(_NUMBER.fullmatch(field) is not None for field in names) >= len(names):
        do = "put the names of the columns on the first line: headline,image,shown,clicked"
        raise InputError(f"a header in {name}", f"{', '.join(names)}", do)
    try:
        table = pl.read_csv(text.encode(), infer_schema=False, separator=separator)
    except pl.exceptions.ComputeError as error:
        if "more fields" not in str(error):
            raise
        raise _too_many(text, separator, len(names), name) from None
    table.columns = names
    kept = table.filter(~pl.all_horizontal(pl.all().fill_null("").str.strip_chars() == ""))
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


def _too_many(text: str, separator: str, fields: int, name: str) -> InputError:
    """Say which row has more fields than the header."""
    for place, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator)):
        if len(row) > fields:
            do = "put fields that hold a separator in quotes, and write 12000 rather than 12,000"
            return InputError(f"{fields} fields in every row of {name}", f"{len(row)} in row {place}", do)
    return InputError(f"{fields} fields in every row of {name}", "more", "check its separators")
