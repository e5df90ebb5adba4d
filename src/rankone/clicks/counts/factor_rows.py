"""The rows of a table as levels and numbers; sums, and rows without a level, are left out, and that is said."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from rankone.clicks.counts.column_kinds import WORDS
from rankone.clicks.counts.column_values import BLANK, days_of, mostly_numbers, numbers_of, unclear_number
from rankone.clicks.counts.counts import as_names
from rankone.clicks.counts.factor_columns import FactorColumns
from rankone.errors import InputError
from rankone.wording.numbers import percent

_TOTALS, _MAYBE_TOTALS, _NAMELESS = (WORDS[what] for what in ("totals", "maybe-totals", "nameless"))
_TOTAL_COLON = r"^(?:totals?|gesamt|summe|totale|totaal) ?: "  # Total: Ads
_TOTAL_OF = (
    r"^total (.+)$|^(.+) (?:total|subtotal|summe|ergebnis)$"  # Excel's pivot tables: Control Total, if it adds up
)
_FEW = 0.05  # of what was shown: more without a level may be cells that stand for the one above, as in pivot tables
_MOST_VALUES = 10_000  # of a column in which totals are looked for
_KEEP = "To count them as levels: --all-rows (in Python all_rows=True)."


def total_words(table: pl.DataFrame) -> pl.Series:
    """Return the word that calls a row a total, null where there is none.

    A column in which most cells are such words is none of totals: all rows may be of the age "All".

    >>> total_words(pl.DataFrame({"day": ["1 Oct", "2 Oct", "Total"], "age": ["All", "All", ""]})).to_list()
    [None, None, 'total']
    """
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, table.height)
    words = []
    for column in table.select(pl.col(pl.String)):
        own = _totals(column)
        if 0 < 2 * own.sum() <= table.height:
            words.append(pl.when(own).then(_plain(pl.col(column.name))))
    result = table.select(word=pl.coalesce(*words))["word"] if words else nothing
    return result if result.null_count() else nothing


def nameless_rows(table: pl.DataFrame) -> pl.Series:
    """Mark the rows that have numbers only, where others have texts: sums that no word calls so.

    >>> nameless_rows(pl.DataFrame({"ad": ["A", "B", ""], "shown": ["10", "20", "30"]})).to_list()
    [False, False, True]
    """
    texts = [column.name for column in table.select(pl.col(pl.String)) if not mostly_numbers(column)]
    blank = [pl.col(name).str.strip_chars().is_in(BLANK).fill_null(True) for name in texts]
    return table.select(rows=pl.all_horizontal(*blank) if texts else pl.repeat(False, pl.len()))["rows"]


def _totals(column: pl.Series) -> pl.Series:
    known, plain = column.unique().to_frame(), _plain(pl.col(column.name))
    if known.height > _MOST_VALUES:
        known = known.clear()
    words = known.filter(
        plain.is_in((*_TOTALS, *_MAYBE_TOTALS)) | plain.str.contains(f"{_TOTAL_COLON}|{_TOTAL_OF}")
    ).to_series()
    return column.is_in(words.implode()).fill_null(False)


def _plain(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.strip_chars(" :*")


def level_names(columns: FactorColumns) -> list[str]:
    """Return what the columns of levels are called in the rows, whatever they are called in the table."""
    return [f"factor {index}" for index in range(len(columns.factors))]


def with_thousands(table: pl.DataFrame, columns: FactorColumns) -> dict[str, str]:
    """Return the columns in which 12.000 is 12,000, each with such a number.

    A program that writes 12 as 12.000 writes all numbers so: where another column of counts, or another cell, has none,
    it is a point between thousands. Else nobody can tell.
    """
    counts = [column for column in (columns.shown, columns.clicked) if column is not None]
    unclear = {column: found for column in counts if (found := unclear_number(table[column])) is not None}
    plain = len(unclear) < len(counts) or any(not table[column].str.contains(r"\.").all() for column in unclear)
    for column, number in unclear.items():
        if not plain:
            either = f"'{number}' may be {number.partition('.')[0]} or {number.replace('.', ',')}"
            raise InputError(f"Column '{column}' is unclear:", either, "write whole numbers without points")
    return unclear


def read_rows(table: pl.DataFrame, columns: FactorColumns) -> pl.DataFrame:
    """Return levels as texts ("factor 0", ...), clicks and impressions as numbers, and when a row was counted."""
    thousands = with_thousands(table, columns)
    levels = [
        expression.str.strip_chars().fill_null("").alias(name)
        for name, expression in zip(level_names(columns), as_names(table.schema, columns.factors), strict=True)
    ]
    when: pl.Series | pl.Expr = pl.lit(None, pl.String)
    if columns.slice is not None:
        times = table[columns.slice]
        if times.dtype == pl.String:  # the word Total in a column of dates is no date
            times = table.select(pl.when(~_totals(times)).then(columns.slice)).to_series()
        days = days_of(times)
        when = (times.cast(pl.String) if days is None else days).fill_null("")
    return table.select(
        *levels,
        numbers_of(table[columns.clicked], columns.clicked in thousands).alias("clicked"),
        (pl.lit(1.0) if columns.shown is None else numbers_of(table[columns.shown], columns.shown in thousands)).alias(
            "shown"
        ),
        when.alias("slice"),
        pl.int_range(1, pl.len() + 1).alias("row"),
    )


def countable_rows(
    table: pl.DataFrame, columns: FactorColumns, totals: pl.Series, all_rows: bool
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out rows that are sums of others (`totals` has their words) and rows without a level, and say so.

    With `all_rows` only those that cannot be levels: sums, and totals that lack a level.
    """
    names, notes = level_names(columns), []
    rows = read_rows(table, columns).with_columns(total=totals)
    notes += [
        f"Read '{number}' in column '{column}' as {number.replace('.', ',')}."
        for column, number in with_thousands(table, columns).items()
    ]
    blank = pl.all_horizontal(pl.col(name).is_in(BLANK) for name in names)
    sums = rows.filter(blank | pl.col("total").is_not_null()) if columns.shown is not None else rows.clear()
    others = rows.filter(~pl.col("row").is_in(sums["row"].to_list()))
    if not sums.is_empty() and not others.is_empty():
        begins = [0, *sums["row"]]  # of the rows above each sum, up to the sum before it
        parts = [others.filter(pl.col("row").is_between(*ends)) for ends in itertools.pairwise(begins)]
        adds_up = pl.Series([_adds_up(*each, others, names) for each in zip(sums.to_dicts(), parts, strict=True)])
        named = (sums["total"].is_in(_TOTALS) | sums["total"].str.contains(_TOTAL_COLON)).fill_null(False)
        sure = named & ~(sums["shown"] < others["shown"].max()).fill_null(False)  # a brand may be called Total, too
        if all_rows:
            sure &= sums.select(pl.any_horizontal(pl.col(name).is_in(BLANK) for name in names)).to_series()
        added, called = sums.filter(adds_up), sums.filter(~adds_up & sure)
        kept = sums.filter(~adds_up & ~sure & sums["total"].is_in((*_TOTALS, *_MAYBE_TOTALS)))
        if not added.is_empty():
            what = "it is the sum" if added.height == 1 else "they are sums"
            notes.append(f"Left out because {what} of other rows: {_some(added, names)}.")
        if not called.is_empty():
            what = "Left out as a total, though it is not the sum of other rows"
            notes.append(f"{what}: {_some(called, names)}. {_KEEP}")
        if not kept.is_empty():
            notes.append(f"Counted as a level, because it is not the sum of the other rows: {_some(kept, names)}.")
        rows = rows.filter(~pl.col("row").is_in([*added["row"], *called["row"]]))
    rows, left_out = (rows, ()) if all_rows else _with_levels(rows, columns)
    return rows, (*notes, *left_out)


def _with_levels(rows: pl.DataFrame, columns: FactorColumns) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out rows in which a program says that there is no level, and a few with empty cells."""
    names = level_names(columns)
    empty = rows.select(pl.any_horizontal(pl.col(name) == "" for name in names)).to_series()
    unset = rows.select(pl.any_horizontal(_plain(pl.col(name)).is_in(_NAMELESS) for name in names)).to_series()
    shown = rows["shown"].fill_null(0.0)
    all_shown = float(shown.sum())
    nameless = unset | empty if float(shown.filter(empty).sum()) <= _FEW * all_shown else unset
    if not nameless.any() or nameless.all():
        return rows, ()
    left = rows.filter(nameless)
    lacking = left.select(_plain(pl.col(name)).is_in((*_NAMELESS, "")).any() for name in names).row(0)
    some = [name for name, lacks in zip(columns.factors, lacking, strict=True) if lacks]
    share = float(shown.filter(nameless).sum()) / max(all_shown, 1.0)
    counts = f"{shown.filter(nameless).sum():,.0f} of {all_shown:,.0f} shown ({percent(share, 2)})"
    names_no = "as it names no" if left.height == 1 else "as they name no"
    return rows.filter(~nameless), (
        f"Left out, {names_no} {' or '.join(some)}: {_some(left, names)}, {counts}. {_KEEP}",
    )


def _adds_up(row: dict[str, Any], above: pl.DataFrame, others: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether a row has the sums of those that share its levels, and perhaps its day, or of those right above it."""
    same = [pl.lit(True)]
    for name in names:
        plain = str(row[name]).lower().strip(" :*")
        if row[name] in BLANK or plain in (*_TOTALS, *_MAYBE_TOTALS) or re.match(_TOTAL_COLON, plain):
            continue
        part = re.match(_TOTAL_OF, plain)
        same.append(pl.col(name) == row[name] if part is None else _plain(pl.col(name)) == (part[1] or part[2]))
    days = [same, *([[*same, pl.col("slice") == row["slice"]]] if row["slice"] else [])]
    parts = [above, *(others.filter(each) for each in days)]
    return any(
        part.height > 0 and part["shown"].sum() == row["shown"] and part["clicked"].sum() == row["clicked"]
        for part in parts
    )


def _some(rows: pl.DataFrame, names: Sequence[str]) -> str:
    sentences = []
    for row in rows.head(3).to_dicts():
        level = next((row[name] for name in names if row[name] not in BLANK), (row["total"] or "").capitalize())
        sentences.append(f"row {row['row']}" + (f" ('{level}')" if level else ""))
    return ", ".join(sentences) + (", ..." if rows.height > 3 else "")


def check_rows(rows: pl.DataFrame, table: pl.DataFrame, columns: FactorColumns) -> None:
    """Refuse the first row that cannot be counted."""

    def first(wrong: pl.Series) -> int | None:
        return int(rows["row"].filter(wrong)[0]) if wrong.any() else None

    for index, name in enumerate(columns.factors):
        if (wrong := first(rows[f"factor {index}"] == "")) is not None:
            raise InputError(f"Row {wrong}: '{name}' is empty.", "", "fill it in")
    for what, column in (("shown", columns.shown), ("clicked", columns.clicked)):
        wrong = first(~((rows[what] >= 0.0) & (rows[what] == rows[what].floor())).fill_null(False))
        if wrong is not None and column is not None:
            cell = table[column][wrong - 1]
            is_no = "is empty" if cell is None else f"is no whole number from 0: {cell}"
            raise InputError(f"Row {wrong}: '{column}' {is_no}.", "", "correct it, or name another column")
    if (wrong := first(rows["clicked"] > rows["shown"])) is not None:
        counts = rows.filter(pl.col("row") == wrong).row(0, named=True)
        more = f"Row {wrong}: more clicks ({counts['clicked']:g}) than impressions ({counts['shown']:g})."
        do = "check which column is which" if columns.shown else "name the column of impressions: shown='...'"
        raise InputError(more, "", do)
