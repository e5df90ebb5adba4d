"""Tails of result lists: what stands below the last click (the whole list, if it has none).

Whether the rest of a list was read and skipped, or not read at all, is all that the models of reading from the top
(DCM, SDBN, DBN, CCM) do not observe. Above the last click counts tell everything; below it the likelihood needs to know
which items stood there together. Equal tails are counted, so memory follows the number of different ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

KEYS = ["query", "last_item", "last_position", "tail"]
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
        .group_by(*_IN_LIST, "item").agg(pl.col("position").min(), pl.col("clicked").max())
        .sort("position", "item")
    )  # fmt: skip
    place, clicked = pl.col("position"), pl.col("clicked") > 0
    last = place.filter(clicked).max().fill_null(0)
    return rows.group_by(_IN_LIST).agg(
        last_item=pl.col("item").filter(clicked).last(), last_position=last,
        tail=pl.col("item").filter(place > last),
    ).group_by(KEYS).agg(times=pl.len().cast(pl.Int64))  # fmt: skip


class TailCounter:
    """Counts tails of lists whose queries and items are whole numbers, batch by batch."""

    _MERGED_AT = 1 << 18

    def __init__(self) -> None:
        self._tables: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, queries: pl.Series, items: Any, clicked: Any, none: int) -> None:
        """Count the tails of lists as matrices; `none` marks a place without an item."""
        if not len(items):
            return
        places = np.arange(1, items.shape[1] + 1)
        last = np.where(clicked > 0, places, 0).max(axis=1)
        clicked_last = np.where(last > 0, items[np.arange(len(items)), last - 1], none)
        below = np.where(places > last[:, None], items, none)
        numbers = {f"{place}": below[:, place] for place in range(items.shape[1])}
        table = pl.DataFrame({"query": queries, "last": last, "last_item": clicked_last, **numbers})
        self._tables.append(table.group_by(pl.all()).agg(times=pl.len().cast(pl.Int64)))
        self._waiting += self._tables[-1].height
        if self._waiting > max(self._MERGED_AT, 2 * self._tables[0].height):
            self._tables, self._waiting = [self._merged()], 0

    def _merged(self) -> pl.DataFrame:
        return pl.concat(self._tables).group_by(pl.exclude("times")).agg(pl.col("times").sum())

    def table(self, none: int) -> pl.DataFrame | None:
        """Return the tails, items by name."""
        if not self._tables:
            return None
        table = self._merged()
        places = [name for name in table.columns if name.isdigit()]

        def name(column: str) -> pl.Expr:
            return pl.when(pl.col(column) != none).then(pl.col(column).cast(pl.String))

        return table.select(
            "query", name("last_item").alias("last_item"), pl.col("last").alias("last_position"),
            pl.concat_list([name(place).alias(place) for place in places]).list.drop_nulls().alias("tail"), "times",
        )  # fmt: skip


def merged_tails(tables: list[pl.DataFrame]) -> pl.DataFrame | None:
    """Add up tables of tails."""
    if not tables:
        return None
    return tables[0] if len(tables) == 1 else pl.concat(tables).group_by(KEYS).agg(pl.col("times").sum())
