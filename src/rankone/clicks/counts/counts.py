"""Counts per (query, item, position): the one thing between a click log and a click model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankone.clicks.logs.read_report import ReadReport
from rankone.errors import InputError
from rankone.notebook import Shown
from rankone.specs import amount, whole_number

CELL = ["query", "item", "position"]
CELL_NUMBERS = ["impressions", "clicks"]
LIST_NUMBERS = [*CELL_NUMBERS, "examined", "last_clicks"]
#: Positions are stored in one byte.
MOST_POSITIONS = 255


class Counts(Shown):
    """Impressions and clicks of every cell (query, item, position) of a log.

    Args:
        table: any dataframe with the columns ``query``, ``item``, ``position``, ``impressions`` and ``clicks``. Rows of
            the same cell are added up, rows without impressions left out, and clicks above the impressions of a row cut
            to them; the report says how many of each. Counts of whole result lists have ``previous``, ``examined`` and
            ``last_clicks`` too (`rankone.clicks.counts.counter`).
        report: what was read and what was set aside.
        position_names: what positions 1, 2, ... are called; positions that are texts name themselves, in the order of
            the alphabet.
        tails: what stood below the last click of lists (`rankone.clicks.counts.counter`), where they were counted.

    >>> counts = Counts(pl.DataFrame({"query": ["q"] * 2, "item": ["a", "b"], "position": [1, 2],
    ...                               "impressions": [10, 10], "clicks": [12, 3]}))
    >>> counts.impressions, counts.clicks, counts.report["cells clamped"]   # 12 clicks of 10 are taken as 10
    (20, 13, 1)
    """

    def __init__(
        self,
        table: Any,
        report: ReadReport | None = None,
        position_names: Sequence[str] = (),
        tails: pl.DataFrame | None = None,
    ) -> None:
        self.tails = tails
        self.report = report or ReadReport()
        if not isinstance(table, pl.DataFrame):
            from rankone.clicks.counts.frames import known_frame, to_polars  # which need this file

            table = to_polars(known_frame(table))
        check_columns(table.columns, [*CELL, *CELL_NUMBERS], "rename the columns")
        keys = [*CELL, "previous"] if "previous" in table.columns else CELL
        numbers = LIST_NUMBERS if "previous" in table.columns else CELL_NUMBERS
        table = table.with_columns(as_names(table.schema, ["query", "item"]))
        if isinstance(table.schema["position"], pl.String | pl.Categorical | pl.Enum):
            table, position_names = _numbered(table)
        self.position_names = tuple(position_names)
        table = _checked(table, numbers)
        self.report.add("cells without impressions", table.select((pl.col("impressions") == 0).sum()).item())
        table = table.select(
            "query",
            "item",
            pl.col("position").cast(pl.UInt8),
            *(pl.col(key).cast(pl.UInt8) for key in keys[3:]),
            *(pl.col(number).cast(pl.Int64) for number in numbers),
        ).filter(pl.col("impressions") > 0)
        if table.is_empty():
            raise InputError("at least one impression", "none", "check that the log holds result lists")
        self.report.add("cells clamped", table.select((pl.col("clicks") > pl.col("impressions")).sum()).item())
        table = table.with_columns(pl.min_horizontal("clicks", "impressions").alias("clicks"))
        doubled = table.height - table.select(pl.struct(keys).n_unique()).item()
        if doubled:
            self.report.add("cells in several rows", doubled)
            table = table.group_by(keys).agg(pl.col(numbers).sum())
        self.table = table.sort(keys)

    @property
    def has_lists(self) -> bool:
        """Whether whole result lists were counted; cascade, DCM, SDBN and UBM need them."""
        return "previous" in self.table.columns

    @functools.cached_property
    def cells(self) -> pl.DataFrame:
        """One row per cell: query, item, position, impressions, clicks; sorted."""
        if not self.has_lists:
            return self.table
        return self.table.group_by(CELL, maintain_order=True).agg(pl.col(CELL_NUMBERS).sum())

    @property
    def impressions(self) -> int:
        """Impressions in all cells."""
        return int(self.table["impressions"].sum())

    @property
    def clicks(self) -> int:
        """Clicks in all cells (at most one an impression)."""
        return int(self.table["clicks"].sum())

    @property
    def positions(self) -> list[int]:
        """Positions that occur."""
        return self.table["position"].unique().sort().to_list()

    @functools.cached_property
    def queries(self) -> pl.DataFrame:
        """One row per query, the most frequent first: lists, items, impressions, clicks."""
        per_position = self.cells.group_by("query", "position").agg(pl.col("impressions").sum())
        lists = per_position.group_by("query").agg(pl.col("impressions").max().alias("lists"))
        totals = self.cells.group_by("query").agg(pl.col("item").n_unique().alias("items"), pl.col(CELL_NUMBERS).sum())
        return lists.join(totals, on="query").sort(["lists", "query"], descending=[True, False])

    def top(self, number: int) -> Counts:
        """Keep the `number` most frequent queries."""
        kept = whole_number("top", number, example=20)
        return self.only(self.queries["query"].head(kept).to_list())

    def only(self, queries: Iterable[str]) -> Counts:
        """Keep the queries named."""
        names = [str(query) for query in queries]
        known = set(self.queries["query"])
        for name in names:
            if name not in known:
                examples = ", ".join(self.queries["query"].head(5))
                raise InputError(f"a query of the counts, such as {examples}", name, "see counts.queries")
        kept = pl.col("query").is_in(names)
        tails = None if self.tails is None else self.tails.filter(kept)
        return Counts(self.table.filter(kept), self.report, self.position_names, tails)

    def shown_at_least(self, number: int) -> Counts:
        """Keep the items that their query showed at least this often."""
        return Counts(self.table.filter(shown_often(number)), self.report, self.position_names, self.tails)

    @functools.cached_property
    def n_items(self) -> int:
        """Number of items, each counted in its query."""
        return int(self.queries["items"].sum())

    def _sentence(self) -> str:
        return (
            f"<Counts: {len(self.queries):,} {'query' if len(self.queries) == 1 else 'queries'}, "
            f"{amount(len(self.cells), 'cell')}, {amount(self.impressions, 'impression')}, "
            f"{amount(self.clicks, 'click')}>"
        )

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {"queries": self.queries, "cells": self.cells}

    def __repr__(self) -> str:
        return self._sentence()


def check_columns(known: Sequence[str], needed: Iterable[str], do: str = "name another one") -> None:
    """Refuse a table without one of the columns that are needed."""
    for name in needed:
        if name not in known:
            raise InputError(f"a column '{name}'", f"the columns {', '.join(known)}", do)


def position_title(names: Sequence[str], position: int) -> str:
    """Return what a position is called.

    >>> position_title((), 2), position_title(("side", "top"), 2)
    ('position 2', 'top')
    """
    return names[position - 1] if names else f"position {position}"


def position_number(names: Sequence[str]) -> pl.Expr:
    """The position as a number, by its name where positions have names; what is neither is null."""
    if not names:
        return pl.col("position").cast(pl.Int64, strict=False)
    numbers = {name: number for number, name in enumerate(names, 1)}
    return pl.col("position").cast(pl.String).replace_strict(numbers, default=None, return_dtype=pl.Int64)


def _numbered(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    texts = table["position"].cast(pl.String)
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count() and whole.is_between(1, MOST_POSITIONS).all():
        return table.with_columns(whole.alias("position")), []
    names = texts.drop_nulls().unique().sort().to_list()
    if len(names) > MOST_POSITIONS:
        got = f"{len(names):,} names ({', '.join(names[:3])}, ...)"
        raise InputError(f"at most {MOST_POSITIONS} positions", got, "check which column holds the positions")
    numbers = texts.replace_strict(names, list(range(1, len(names) + 1)), default=None, return_dtype=pl.Int64)
    return table.with_columns(numbers.alias("position")), names


def as_names(schema: Mapping[str, pl.DataType], columns: Iterable[str]) -> list[pl.Expr]:
    """Return columns as texts; whole numbers that are floats, as pandas has them beside gaps, lose their point.

    >>> frame = pl.DataFrame({"item": [1.0, None, float("nan"), 2.5]})
    >>> frame.select(as_names(frame.schema, ["item"]))["item"].to_list()
    ['1', None, None, '2.5']
    """
    result = []
    for name in columns:
        number, whole = pl.col(name).fill_nan(None), pl.col(name).cast(pl.Int64, strict=False)
        floats = pl.when(whole == number).then(whole.cast(pl.String)).otherwise(number.cast(pl.String)).alias(name)
        result.append(floats if schema[name].is_float() else pl.col(name).cast(pl.String))
    return result


def _checked(table: pl.DataFrame, numbers: list[str]) -> pl.DataFrame:
    named, values = [*CELL, *numbers], pl.col("position", *numbers)
    table = table.with_columns(values.cast(pl.Float64, strict=False).fill_nan(None))
    wrong = {
        "missing values": pl.any_horizontal(pl.col(named).is_null()),
        f"positions out of 1 to {MOST_POSITIONS}": ~pl.col("position").is_between(1, MOST_POSITIONS),
        "negative numbers": pl.any_horizontal(pl.col(numbers) < 0),
        "fractions": pl.any_horizontal(values != values.floor()),
    }
    for what, condition in wrong.items():
        rows = table.with_row_index("row").filter(condition)
        if rows.height:
            first = ", ".join(f"{name} {rows[name][0]}" for name in named)
            where = f"{rows.height:,} of {table.height:,} rows, the first of them row {rows['row'][0] + 1} ({first})"
            raise InputError("counts of impressions and clicks", f"{what} in {where}", "correct the table")
    return table


def shown_often(least: int) -> pl.Expr:
    """Cells of items that their query showed at least this often."""
    return pl.col("impressions").sum().over("query", "item") >= least


class Sums:
    """Tables of counts, or of tails, added up as they come, so that memory follows the number of distinct cells."""

    _AT = 1 << 19  # rows that wait to be added up

    def __init__(self) -> None:
        self._tables: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, table: pl.DataFrame) -> None:
        """Take a table, in which each cell (or tail) stands once."""
        self._tables.append(table)
        self._waiting += len(table)
        if self._waiting > max(self._AT, 2 * len(self._tables[0])):
            self.total()

    def total(self) -> pl.DataFrame | None:
        """Return the sums so far; None where nothing came."""
        if len(self._tables) > 1:
            sums = [name for name in (*LIST_NUMBERS, "times") if name in self._tables[0].columns]
            self._tables = [pl.concat(self._tables).group_by(pl.exclude(sums)).agg(pl.col(sums).sum())]
            self._waiting = 0
        return self._tables[0] if self._tables else None
