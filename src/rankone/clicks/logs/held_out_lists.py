"""Held-out result lists as matrices: one row per list, one column per position."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.counts.counts import as_names
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.errors import InputError
from rankone.numerics.arrays import Ints, Mask


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
    check_columns(table, "list", "query", "item", "position", "clicked")
    table = table.select(
        pl.col("list"), *as_names(table.schema, ["query", "item"]), pl.col("position", "clicked").cast(pl.Int64)
    ).filter(pl.col("position") <= n_positions)
    rows = numbered(table, cells)
    if rows.is_empty():
        raise InputError("held-out lists of queries that were fitted", "none", "hold out lists of the same log")
    lists, _ = matrices(rows, n_positions)
    left_out = table.select(pl.struct("list", "query").n_unique()).item() - len(lists.query)
    return dataclasses.replace(lists, left_out=left_out)


def check_columns(table: pl.DataFrame, *needed: str) -> None:
    """Refuse lists without one of the columns."""
    for column in needed:
        if column not in table.columns:
            raise InputError(f"the columns {', '.join(needed)}", f"no '{column}'", "rename the columns of the lists")


def matrices(rows: pl.DataFrame, n_positions: int) -> tuple[Lists, tuple[Ints, Ints]]:
    """Return the lists of numbered rows, and where each row is in them."""
    keys = rows.select(pl.struct("list", "query").rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    place = (keys, rows["position"].to_numpy().astype(np.int64) - 1)
    shape = (int(keys.max()) + 1, n_positions)
    query, item = np.zeros(shape[0], np.int64), np.full(shape, -1, np.int64)
    shown, clicked = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    query[keys] = rows["query_number"].to_numpy()
    item[place] = rows["item_number"].cast(pl.Int64).fill_null(-1).to_numpy()
    shown[place] = True
    clicked[place] = rows["clicked"].to_numpy() > 0
    return Lists(query, item, shown, clicked, 0), place


def numbered(table: pl.DataFrame, cells: Cells) -> pl.DataFrame:
    """Add the numbers of query and item (null if the item was not fitted); rows of other queries are left out."""
    numbers = pl.DataFrame({"query": cells.queries, "query_number": np.arange(len(cells.queries))})
    items = cells.items.select("query", "item").with_row_index("item_number")
    return table.join(numbers, on="query", maintain_order="left").join(
        items, on=["query", "item"], how="left", maintain_order="left"
    )
