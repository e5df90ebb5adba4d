"""What a column of a table holds: counts, outcomes, days, measures; as numbers or as the texts people's files have."""

import re
import tomllib
from pathlib import Path

import polars as pl

_TRUTHS = {"true": "1", "t": "1", "yes": "1", "y": "1", "false": "0", "f": "0", "no": "0", "n": "0"}
_SPACES = "[\\s\u00a0\u202f'\u2019]"  # between thousands: 12 000, and in Switzerland 12'000
_COMMAS = r"^[1-9]\d{0,2}(,\d{3})+$"
_POINTS = r"^[1-9]\d{0,2}(\.\d{3})+$"
_SHORT = r"^\d{1,3}$"
#: Words in names of columns, by what they say, and of months; in seven languages.
COLUMN_WORDS = tomllib.loads(Path(__file__).with_name("column_words.toml").read_text(encoding="utf-8"))
COLUMN_PERIODS = COLUMN_WORDS.pop("periods")
_MONTH = rf"(?:{'|'.join(sorted(COLUMN_WORDS.pop('months').split(), key=len, reverse=True))})\.?"
_WEEKDAY = r"(?:\p{L}{2,10}\.?,? )?"
_DAYS = tuple(
    "(?i)" + shape
    for shape in (
        r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2})([T ].*)?$",
        r"^(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2}))( .*)?$",
        rf"^{_WEEKDAY}(\d{{1,2}}\.?[ -](?:de )?{_MONTH}[ -](?:de )?\d{{2,4}})( .*)?$",
        rf"^{_WEEKDAY}({_MONTH} \d{{1,2}},? \d{{4}})( .*)?$",
        rf"^{_WEEKDAY}({_MONTH} \d{{1,2}}|\d{{1,2}}\.? {_MONTH}|{_MONTH}[ -]\d{{4}})$",
        r"^(\d{4}-?(W|KW|Q)\d{1,2}|\d{4}-\d{1,2}|(0?[1-9]|1[0-2])[/.]20\d\d|\d{1,2}\.\d{1,2}\.|Q[1-4][ /-]20\d\d)$",
        r"^((kw|week|woche|semaine|semana|settimana) ?\d{1,2}([ ,/-]+\d{4})?)$",
        r"^(20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))(\d\d)?$",
    )
)  # a day, or a week, month or quarter of a year; behind it perhaps the time of day
BLANK = ("", "-", "--", "\u2013", "\u2014")  # cells without contents
_MEASURE = r"^[<>~]?\s*[-+\u2212]?\s*[$€£¥]?\s*\d[\d.,'\s]*([%$€£¥]|EUR|USD|GBP|CHF)?(\s*±.*)?$"
_TIMES = re.compile("time|_at$|date|ts$|epoch", re.IGNORECASE)
_SECONDS = 86_400.0
_FIRST = 50  # cells that tell what most columns do not hold


def whole_numbers(column: pl.Series) -> pl.Series | None:
    """Return a column of whole numbers from 0 as numbers, None if it is none.

    >>> whole_numbers(pl.Series(["12,000", "950"])).to_list(), whole_numbers(pl.Series(["yes", "No"])).to_list()
    ([12000.0, 950.0], [1.0, 0.0])
    >>> whole_numbers(pl.Series(["1 000 000 000", "12'000"])).to_list()
    [1000000000.0, 12000.0]
    """
    numbers = numbers_of(column)
    whole = (numbers >= 0.0) & (numbers == numbers.floor())
    return numbers if numbers.null_count() == 0 and whole.all() else None


def numbers_of(column: pl.Series, thousands: bool = False) -> pl.Series:
    """Return a column as numbers, null where it holds none; yes and no are 1 and 0. `thousands`: 12.000 is 12,000.

    >>> numbers_of(pl.Series(["1.200", "12.345", "7"])).to_list()    # no counts as fractions: points between thousands
    [1200.0, 12345.0, 7.0]
    """
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        return pl.Series(column.name, [None] * len(column), pl.Float64)
    texts = column.str.strip_chars().str.to_lowercase().replace(_TRUTHS)
    if thousands:
        texts = texts.str.replace_all(".", "", literal=True)
    return _without_groups(texts).cast(pl.Float64, strict=False)


def _without_groups(texts: pl.Series) -> pl.Series:
    """Take the marks between thousands away where nothing else can be meant."""
    closed = texts.str.replace_all(r"\b" + _SPACES + r"(\d{3})\b", "$1")
    commas = closed.str.contains(_COMMAS)
    if commas.any() and (commas | closed.str.contains(r"^\d+(\.\d+)?$")).all():
        return closed.str.replace_all(",", "")
    points = closed.str.contains(_POINTS)
    if points.any() and (points | closed.str.contains(_SHORT)).all() and unclear_number(texts) is None:
        return closed.str.replace_all(".", "", literal=True)
    return closed


def unclear_number(column: pl.Series) -> str | None:
    """Return a number that can be read in two ways: 200.000 is 200, or in German 200,000, and nothing else tells.

    >>> unclear_number(pl.Series(["200.000", "150.000"])), unclear_number(pl.Series(["200.000", "150.250"]))
    ('200.000', None)
    """
    if column.dtype != pl.String:
        return None
    texts = column.str.strip_chars()
    points = texts.str.contains(_POINTS)
    if not points.any() or not (points | texts.str.contains(_SHORT)).all():
        return None
    clear = texts.str.contains(r"\..*\.").any() or (points & ~texts.str.contains(r"\.000$")).any()
    return None if clear else str(texts.filter(points)[0])


def mostly_numbers(column: pl.Series) -> bool:
    """Whether at least half the values are numbers: a column of counts with a mistake in it is still one of counts."""
    return 2 * numbers_of(column).count() >= max(1, len(column))


def is_outcome(column: pl.Series) -> bool:
    """Whether a column holds nothing but 0 and 1, or yes and no."""
    numbers = whole_numbers(column)
    return numbers is not None and bool((numbers <= 1.0).all())


def is_measure(column: pl.Series) -> bool:
    """Numbers some of which have a fraction, or that all come with a sign of percent or money; cells may be blank.

    >>> is_measure(pl.Series(["1.095,50 €", "7,00 €"])), is_measure(pl.Series(["7.79% ± 0.26%", "--"]))
    (True, True)
    >>> is_measure(pl.Series(["12.000", "12.500"]))    # points between thousands
    False
    """
    if column.dtype != pl.String:
        return column.dtype.is_float() or column.dtype.is_decimal()
    texts = filled(column)
    if texts.is_empty() or not texts.str.contains(_MEASURE).all():
        return False
    plain = texts.str.strip_chars(" %$€£")
    numbers = numbers_of(plain).fill_null(plain.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False))
    return bool((numbers != numbers.floor()).any()) or bool(texts.str.contains("[%$€£¥]").all())


def filled(column: pl.Series) -> pl.Series:
    """Return the texts of a column without those that are blank."""
    texts = column.str.strip_chars()
    return texts.filter(~texts.is_in(BLANK).fill_null(True))


def days_of(column: pl.Series) -> pl.Series | None:
    """Return the day (or the week, the month) of each row, null where a cell is blank; None of what holds no dates.

    >>> days_of(pl.Series(["2026-11-17 10:30", "2026-11-18T00:01Z"])).to_list()
    ['2026-11-17', '2026-11-18']
    """
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.date().cast(pl.String)
    if column.dtype != pl.String:
        return days_of(column.cast(pl.String)) if column.dtype.is_integer() else _days_of_seconds(column)
    texts = column.str.strip_chars()
    known = filled(column)
    if known.is_empty() or re.match("\\w", known[0]) is None:
        return None
    for shape in _DAYS:
        if known.head(_FIRST).str.contains(shape).all() and known.str.contains(shape).all():
            return texts.str.extract(shape, 1)
    return _days_of_seconds(texts.cast(pl.Float64, strict=False))


def _days_of_seconds(column: pl.Series) -> pl.Series | None:
    """The days of seconds or milliseconds since 1970, where a column is called a time and holds such numbers."""
    if not column.dtype.is_numeric() or _TIMES.search(column.name) is None:
        return None
    for unit in (1.0, 1000.0):
        seconds = column.cast(pl.Float64) / unit
        if seconds.null_count() == 0 and ((seconds > 9e8) & (seconds < 4e9)).all():
            return (seconds / _SECONDS).floor().cast(pl.Int64).cast(pl.String)
    return None
