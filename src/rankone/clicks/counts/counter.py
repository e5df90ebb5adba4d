"""Counting result lists, batch by batch: memory grows with the number of distinct cells, not with the log.

A cell is (query, item, position, `previous`: position of the click before it in the list, 0 if none), with four sums:
impressions, clicks, `examined`: how often the position was at or above the last click (or the list had none), and
`last_clicks`: how often it was the last click. These are
the sufficient statistics of every model of `rankone.clicks.models`, but for *tails*: what stands below the last click
of a list (all of it, if it has none). Whether a tail was read is what DCM, SDBN, DBN and CCM do not observe: their
likelihood needs to know which items stood there together. Equal tails are counted.
"""

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import LIST_NUMBERS, Sums
from rankone.clicks.logs.sessions import NO_ITEM, NO_OUTCOMES, QUERY, REGION, Bytes, Reading
from rankone.compiling.compiled import compiled
from rankone.numerics.arrays import Ints, Mask
from rankone.numerics.structures.hash_tables import HashTable, entry, hash_table, with_room


class ListCounter:
    """Counts of result lists whose queries and items are whole numbers."""

    def __init__(self, with_regions: bool) -> None:
        self._with_regions = with_regions
        self._queries = hash_table()
        self._cells = hash_table()
        self._numbers = np.zeros((len(self._cells.first), len(LIST_NUMBERS)), np.int64)

    def add(self, reading: Reading, counted: Mask) -> None:
        """Count those of the first ``len(counted)`` lists of a reading that `counted` marks."""
        most = len(counted) * reading.items.shape[1]
        self._queries = with_room(self._queries, len(counted))
        self._cells = with_room(self._cells, most)
        missing = len(self._cells.first) - len(self._numbers)
        if missing:
            self._numbers = np.concatenate([self._numbers, np.zeros((missing, len(LIST_NUMBERS)), np.int64)])
        compiled(_count, __name__)(
            reading.heads, reading.items, reading.clicked, counted, self._queries, self._cells, self._numbers
        )

    def table(self) -> pl.DataFrame:
        """Return the cells as a table: names of query and item, position, click before, and the four numbers."""
        size = int(self._cells.size[0])
        keys = self._cells.second[:size]
        names = self.query_names(self._queries.first[: int(self._queries.size[0])], self._queries.second)
        return pl.DataFrame(
            {
                "query": names.gather(keys >> 16),
                "item": pl.Series(self._cells.first[:size]).cast(pl.String),
                "position": ((keys >> 8) & 255).astype(np.uint8),
                "previous": (keys & 255).astype(np.uint8),
            }
            | {name: self._numbers[:size, index] for index, name in enumerate(LIST_NUMBERS)}
        )

    def query_names(self, queries: Ints, regions: Ints) -> pl.Series:
        """Name queries: the number of the query, with the region behind it where regions are kept apart."""
        names = pl.Series(queries).cast(pl.String)
        return names + "_" + pl.Series(regions[: len(queries)]).cast(pl.String) if self._with_regions else names


def _count(
    heads: Ints, items: Ints, clicked: Bytes, counted: Mask, queries: HashTable, cells: HashTable, numbers: Ints
) -> None:
    positions = items.shape[1]
    for number in range(len(counted)):
        if not counted[number] or heads[number, QUERY] == NO_OUTCOMES:
            continue
        query = entry(queries, heads[number, QUERY], heads[number, REGION])
        last = 0
        for position in range(positions):
            if clicked[number, position]:
                last = position + 1
        previous = 0
        for position in range(positions):
            item = items[number, position]
            if item == NO_ITEM:
                continue
            cell = entry(cells, item, query << 16 | (position + 1) << 8 | previous)
            numbers[cell, 0] += 1
            if last == 0 or position < last:
                numbers[cell, 2] += 1
            if clicked[number, position]:
                numbers[cell, 1] += 1
                previous = position + 1
                if previous == last:
                    numbers[cell, 3] += 1


_IN_LIST = ["query", "list"]


def tails_of_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the tails of lists in a long table: list, query, item, position, clicked.

    >>> rows = pl.DataFrame({"list": [1, 1, 1, 2, 2], "query": "q", "item": ["a", "b", "c", "a", "b"],
    ...                      "position": [1, 2, 3, 1, 2], "clicked": [1, 0, 0, 0, 0]})
    >>> tails_of_rows(rows).sort("last_position").rows()
    [('q', None, 0, ['a', 'b'], 1), ('q', 'a', 1, ['b', 'c'], 1)]
    """
    rows = (
        rows.select(*_IN_LIST, "item", pl.col("position", "clicked").cast(pl.Int64))
        .group_by(*_IN_LIST, "item")
        .agg(pl.col("position").min(), pl.col("clicked").max())
        .sort("position", "item")
    )
    position, clicked = pl.col("position"), pl.col("clicked") > 0
    last = position.filter(clicked).max().fill_null(0)
    return (
        rows.group_by(_IN_LIST)
        .agg(
            last_item=pl.col("item").filter(clicked).last(),
            last_position=last,
            tail=pl.col("item").filter(position > last),
        )
        .group_by("query", "last_item", "last_position", "tail")
        .agg(times=pl.len().cast(pl.Int64))
    )


class TailCounter:
    """Counts tails of lists whose queries and items are whole numbers, batch by batch."""

    def __init__(self) -> None:
        self._sums = Sums()

    def add(self, queries: pl.Series, items: Ints, clicked: Bytes) -> None:
        """Count the tails of lists as matrices."""
        if not len(items):
            return
        places = np.arange(1, items.shape[1] + 1)
        last = np.where(clicked > 0, places, 0).max(axis=1)
        clicked_last = np.where(last > 0, items[np.arange(len(items)), last - 1], NO_ITEM)
        below = np.where(places > last[:, None], items, NO_ITEM)
        numbers = {f"{index}": below[:, index] for index in range(items.shape[1])}
        table = pl.DataFrame({"query": queries, "last": last, "last_item": clicked_last, **numbers})
        self._sums.add(table.group_by(pl.all()).agg(times=pl.len().cast(pl.Int64)))

    def table(self) -> pl.DataFrame | None:
        """Return the tails, items by name."""
        table = self._sums.total()
        if table is None:
            return None
        places = [name for name in table.columns if name.isdigit()]

        def name(column: str) -> pl.Expr:
            return pl.when(pl.col(column) != NO_ITEM).then(pl.col(column).cast(pl.String))

        return table.select(
            "query",
            name("last_item").alias("last_item"),
            pl.col("last").alias("last_position"),
            pl.concat_list([name(index).alias(index) for index in places]).list.drop_nulls().alias("tail"),
            "times",
        )
