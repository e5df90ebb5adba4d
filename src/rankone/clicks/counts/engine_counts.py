"""Rows of a database or a lazy frame, one per impression, counted by the engine that has them: only counts leave it.

What the columns hold is told by the first rows. A table of counts, or of events by name, is to be read whole: None.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import polars as pl

from rankone.clicks.counts.column_values import days_of
from rankone.clicks.counts.factor_columns import FactorColumns, find_factor_columns
from rankone.clicks.counts.frames import as_number, to_polars
from rankone.clicks.counts.table_shapes import with_clicks
from rankone.errors import InputError

FIRST = 10_000  # rows that tell what the columns hold
SHOWN, CLICKED = "rankone_shown", "rankone_clicked"  # columns that the engine adds
_GOOD = "rankone_good"
_DAY = len("2026-05-04")


class EngineCounts(NamedTuple):
    """Counts by levels and slice, under the names of the columns, and SHOWN and CLICKED."""

    table: pl.DataFrame
    columns: FactorColumns
    visits: tuple[float, float] | None  # the sum of visits of each visitor, and of their squares


def first_rows(table: Any) -> pl.DataFrame:
    """Return the first rows of a lazy frame: all of them, if there are fewer than `FIRST`."""
    return to_polars(table.head(FIRST))


def engine_counts(
    table: Any, first: pl.DataFrame, factors: Sequence[str], clicked: str | None, slice: str | None
) -> EngineCounts | None:
    """Count a lazy frame of impressions; None: it cannot be counted where it is."""
    if clicked is None and with_clicks(first)[0] is not first:
        return None
    columns = find_factor_columns(first, factors, None, clicked, slice)
    outcome, when = first.schema[columns.clicked], columns.slice or _time_of(table, first, columns)
    if columns.shown is not None or not (outcome.is_numeric() or outcome == pl.Boolean):
        return None
    told = nw.col(columns.clicked)
    clicks, no_clicks = (told if outcome == pl.Boolean else told == 1), told == 0
    added = table.with_columns(as_number(clicks).alias(CLICKED))
    good = nw.col(columns.clicked).count()
    if outcome != pl.Boolean:
        added = added.with_columns(as_number((clicks | no_clicks).fill_null(False)).alias(_GOOD))
        good = nw.col(_GOOD).sum()
    keys = [*columns.factors, *([] if when is None else [when])]
    if when is not None:
        added = added.with_columns(_sliced(first, when).alias(when))
    sums = [nw.len().alias(SHOWN), nw.col(CLICKED).sum(), good.alias(_GOOD)]
    counted = to_polars(added.group_by(keys).agg(*sums)).cast(dict.fromkeys((SHOWN, CLICKED, _GOOD), pl.Int64))
    bad = counted.select(pl.col(SHOWN).sum() - pl.col(_GOOD).sum()).item()
    if bad:
        do = "correct them, or name another column"
        raise InputError(f"Column '{columns.clicked}': {bad:,} rows are neither 0 nor 1.", "", do)
    if columns.slice is None and when is not None:
        if counted[when].drop_nulls().n_unique() > 1:
            notes = tuple(note for note in columns.notes if not note.startswith(f"Not used: '{when}'"))
            columns = columns._replace(slice=when, by_day=first.schema[when] != pl.Date, notes=notes)
        else:  # one day is no slice of time
            keys = [*columns.factors]
            counted = counted.group_by(keys).agg(pl.col(SHOWN, CLICKED, _GOOD).sum())
    visits = None
    if columns.who is not None:
        each = table.group_by(columns.who).agg(visits=nw.len().cast(nw.Float64))
        squares = each.with_columns(squares=nw.col("visits") * nw.col("visits"))
        one, two = to_polars(squares.select(nw.col("visits").sum(), nw.col("squares").sum())).row(0)
        visits = float(one), float(two)
    return EngineCounts(counted.sort(keys).drop(_GOOD), columns, visits)


def _time_of(table: Any, first: pl.DataFrame, columns: FactorColumns) -> str | None:
    """Return the column of times that may change, though not among the first rows: tables are often in order of time.

    Only of several it is asked which of them do: that reads the table once more.
    """
    taken = (*columns.factors, columns.who)
    able = [name for name in first.columns if first.schema[name] in (pl.Date, pl.Datetime) and name not in taken]
    for name in able if len(able) > 1 else ():
        ends = to_polars(table.select(nw.col(name).min().alias("low"), nw.col(name).max().alias("high")))
        low, high = (days_of(ends[end]) for end in ("low", "high"))
        if low is not None and high is not None and low[0] != high[0]:
            return name
    return able[0] if len(able) == 1 else None


def _sliced(first: pl.DataFrame, when: str) -> nw.Expr:
    """Return the day of a time, where a column holds times; else what it holds."""
    column, times = nw.col(when), first[when].drop_nulls()
    if times.dtype.is_temporal() and times.dtype != pl.Date:
        return column.dt.date()
    if times.dtype == pl.String:
        days = days_of(times)
        if days is not None and (days == times.str.slice(0, _DAY)).all():
            return column.str.slice(0, _DAY)
    return column
