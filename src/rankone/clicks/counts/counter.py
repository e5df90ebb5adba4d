"""Counting result lists, batch by batch: memory grows with the number of distinct cells, not with the log.

A cell is (query, item, position, `previous`: position of the click before it in the list, 0 if none), with four sums:
impressions, clicks, `examined`: how often the position was at or above the last click (or the list had none), and
`last_clicks`: how often it was the last click. These are
the sufficient statistics of every model of `rankone.clicks.models`, but for *tails*: what stands below the last click
of a list (all of it, if it has none). Whether a tail was read is what DCM, SDBN, DBN and CCM do not observe: their
likelihood needs to know which items stood there together. Equal tails are counted.
"""

from collections.abc import Sequence

import polars as pl

TAIL = ["query", "last_item", "last_position", "tail"]
_IN_LIST = ["query", "list"]
_ADDED_AT = 1 << 20


class Sums:
    """Tables of numbers by keys, added up as they come.

    >>> sums = Sums(["item"])
    >>> for clicks in (2, 3):
    ...     sums.add(pl.DataFrame({"item": ["a"], "clicks": [clicks]}))
    >>> sums.table().rows()
    [('a', 5)]
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys, self._tables, self._waiting = keys, list[pl.DataFrame](), 0

    def add(self, table: pl.DataFrame) -> None:
        """Add a table in which no keys come twice."""
        self._tables.append(table)
        self._waiting += table.height
        if self._waiting > max(_ADDED_AT, 2 * self._tables[0].height):
            self.table()

    def table(self) -> pl.DataFrame | None:
        """Return the sums; None if there are none."""
        if len(self._tables) > 1:
            tables = pl.concat(self._tables)
            keys = [key for key in self._keys if key in tables.columns]
            self._tables = [tables.group_by(keys).agg(pl.exclude(keys).sum())]
        self._waiting = 0
        return self._tables[0] if self._tables else None


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
        .group_by(TAIL)
        .agg(times=pl.len().cast(pl.Int64))
    )
