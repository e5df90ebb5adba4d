"""Counting result lists, batch by batch: memory grows with the number of distinct cells, not with the log.

A cell is (query, item, position, position of the click before it in the list). These are the sufficient statistics of
every model of `rankone.clicks.models`: summed over the click before they are the counts of the position-based model,
kept apart they are those of the user browsing model, and with no click before those of the cascade model. Two more
numbers a cell serve the dependent click model and the simplified DBN: how often the position was at or above the
last click (or the list had none), and how often it was the last click.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from rankone.clicks.logs.sessions import NO_ITEM, NO_OUTCOMES, QUERY, REGION, Bytes, Reading
from rankone.compiling.compiled import compiled
from rankone.numerics.hash_table import HashTable, entry, hash_table, with_room

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
NUMBERS = ("impressions", "clicks", "examined", "last_clicks")


class ListCounter:
    """Counts of result lists whose queries and items are whole numbers."""

    def __init__(self, with_regions: bool) -> None:
        self._with_regions = with_regions
        self._queries = hash_table()
        self._cells = hash_table()
        self._numbers = np.zeros((len(self._cells.first), len(NUMBERS)), np.int64)

    def add(self, reading: Reading, counted: Mask) -> None:
        """Count those of the first ``len(counted)`` lists of a reading that `counted` marks."""
        most = len(counted) * reading.items.shape[1]
        self._queries = with_room(self._queries, len(counted))
        self._cells = with_room(self._cells, most)
        missing = len(self._cells.first) - len(self._numbers)
        if missing:
            self._numbers = np.concatenate([self._numbers, np.zeros((missing, len(NUMBERS)), np.int64)])
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
            | {name: self._numbers[:size, place] for place, name in enumerate(NUMBERS)}
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
