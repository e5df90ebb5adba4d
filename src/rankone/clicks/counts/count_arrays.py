"""Counts as arrays, which models are fitted to, and result lists as matrices, on which they are judged."""

import dataclasses
import functools
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import CELL_NUMBERS, LIST_NUMBERS, Counts, as_names, check_columns, shown_often
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.specs import amount, number_in
from rankone.wording.numbers import percent

#: Share of the lists that may have gaps where a model needs whole lists.
MOST_GAPS = 0.01


def summed(groups: Ints, numbers: Floats, size: int) -> Floats:
    """Sum numbers over the groups 0 to size - 1 that they belong to."""
    return np.bincount(groups, numbers, size).astype(np.float64, copy=False)


@dataclasses.dataclass(frozen=True)
class Cells:
    """Cells in the order query, item, position; an *item* is one of a query, and items of a query stand together."""

    queries: list[str]
    items: pl.DataFrame  # query, item, impressions, clicks
    query_items: Ints  # (queries + 1,): where the items of each query start
    item_cells: Ints  # (items + 1,): where the cells of each item start
    item: Ints  # per cell
    position: Ints  # per cell, from 0
    previous: Ints  # per cell, position of the click before from 1, or 0
    impressions: Floats
    clicks: Floats
    examined: Floats
    last_clicks: Floats
    dropped_items: int
    dropped_impressions: int

    @functools.cached_property
    def query_numbers(self) -> dict[str, int]:
        """Number of each query by its name."""
        return {query: number for number, query in enumerate(self.queries)}

    @property
    def n_items(self) -> int:
        """Number of items, each counted in its query."""
        return len(self.items)

    @property
    def n_positions(self) -> int:
        """Highest position."""
        return int(self.position.max()) + 1

    @property
    def query(self) -> Ints:
        """Per cell: the number of its query."""
        return self.query_of_item[self.item]

    @property
    def query_of_item(self) -> Ints:
        """Per item: the number of its query."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.query_items))


def cells_of(counts: Counts, min_impressions: int, by_previous: bool) -> Cells:
    """Number the queries and items of counts; items with few impressions are left out."""
    number_in("min_impressions", min_impressions, "[0, inf)", example=20)
    if by_previous and not counts.has_lists:
        do = "name the column of the lists: list='...'"
        raise InputError("counts of whole result lists", "counts of single impressions", do)
    gaps, lists = counts.report["lists with gaps"], counts.report["lists"]
    if by_previous and gaps > MOST_GAPS * lists:  # a few rows may be missing that could not be read
        limit = f"at most {percent(MOST_GAPS)} of the lists with gaps"
        raise InputError(
            f"{limit}, as this model follows visitors from place to place",
            f"{gaps:,} of {amount(lists, 'list')} in which a place above the last has no row",
            "log every place that was shown, or fit pbm, which takes each place for itself",
        )
    table = counts.table if by_previous else counts.cells
    if min_impressions > 1:
        table = table.filter(shown_often(min_impressions))
    if table.is_empty():
        most = counts.cells.group_by("query", "item").agg(pl.col("impressions").sum())["impressions"].max()
        expected = f"items with at least {min_impressions} impressions"
        raise InputError(expected, f"at most {most!s}", "lower min_impressions")
    new_query = _changes(table["query"])
    new_item = new_query | _changes(table["item"])
    starts = np.flatnonzero(new_item)
    item = np.cumsum(new_item) - 1
    numbers = {
        name: table[name].to_numpy().astype(np.float64) if name in table.columns else np.zeros(0)
        for name in LIST_NUMBERS
    }
    totals = {name: summed(item, numbers[name], len(starts)).astype(np.int64) for name in CELL_NUMBERS}
    names = table.select("query", "item")[starts].with_columns(**{name: pl.Series(totals[name]) for name in totals})
    return Cells(
        queries=table["query"].gather(np.flatnonzero(new_query)).to_list(),
        items=names,
        query_items=np.append(np.flatnonzero(new_query[starts]), len(starts)),
        item_cells=np.append(starts, len(table)),
        item=item,
        position=table["position"].to_numpy().astype(np.int64) - 1,
        previous=table["previous"].to_numpy().astype(np.int64) if by_previous else np.zeros(0, np.int64),
        dropped_items=counts.n_items - len(starts),
        dropped_impressions=counts.impressions - int(numbers["impressions"].sum()),
        **numbers,
    )


def _changes(values: pl.Series) -> Mask:
    """Mark the places where a sorted column takes a new value."""
    return (values != values.shift(1)).fill_null(True).to_numpy()


@dataclasses.dataclass(frozen=True)
class Lists:
    """Lists whose query was fitted; `left_out` others were not."""

    query: Ints  # (lists,): number of the query in the fitted cells
    item: Ints  # (lists, positions): number of the item in the fitted cells, -1 if it was not fitted
    shown: Mask  # (lists, positions): whether the position shows an item
    clicked: Mask  # (lists, positions)
    left_out: int

    @property
    def previous(self) -> Ints:
        """Return ``(lists, positions)``: position (from 1) of the click before in the list, 0 if there is none."""
        places = np.where(self.clicked, np.arange(1, self.clicked.shape[1] + 1), 0)
        above = np.concatenate([np.zeros((len(places), 1), np.int64), places[:, :-1]], axis=1)
        return np.maximum.accumulate(above, axis=1)


def lists_of(frame: Any, cells: Cells, n_positions: int) -> Lists:
    """Turn a long table with the columns list, query, item, position, clicked into matrices of numbered items."""
    table = to_polars(known_frame(frame))
    check_columns(table.columns, ("list", "query", "item", "position", "clicked"), "rename the columns of the lists")
    table = table.select(
        pl.col("list"), *as_names(table.schema, ["query", "item"]), pl.col("position", "clicked").cast(pl.Int64)
    ).filter(pl.col("position") <= n_positions)
    rows = numbered(table, cells)
    if rows.is_empty():
        raise InputError("held-out lists of queries that were fitted", "none", "hold out lists of the same log")
    lists, _ = matrices(rows, n_positions)
    left_out = table.select(pl.struct("list", "query").n_unique()).item() - len(lists.query)
    return dataclasses.replace(lists, left_out=left_out)


def matrices(rows: pl.DataFrame, n_positions: int) -> tuple[Lists, tuple[Ints, Ints]]:
    """Return the lists of numbered rows, and where each row is in them."""
    keys = rows.select(pl.struct("list", "query").rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    where = (keys, rows["position"].to_numpy().astype(np.int64) - 1)
    shape = (int(keys.max()) + 1, n_positions)
    query, item = np.zeros(shape[0], np.int64), np.full(shape, -1, np.int64)
    shown, clicked = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    query[keys] = rows["query_number"].to_numpy()
    item[where] = rows["item_number"].cast(pl.Int64).fill_null(-1).to_numpy()
    shown[where] = True
    clicked[where] = rows["clicked"].to_numpy() > 0
    return Lists(query, item, shown, clicked, 0), where


def numbered(table: pl.DataFrame, cells: Cells) -> pl.DataFrame:
    """Add the numbers of query and item (null if the item was not fitted); rows of other queries are left out."""
    numbers = pl.DataFrame({"query": cells.queries, "query_number": np.arange(len(cells.queries))})
    items = cells.items.select("query", "item").with_row_index("item_number")
    return table.join(numbers, on="query", maintain_order="left").join(
        items, on=["query", "item"], how="left", maintain_order="left"
    )
