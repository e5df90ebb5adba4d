"""Click probabilities of lists in a table, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankone.clicks.counts.counts import as_names
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.clicks.logs.held_out_lists import matrices, numbered
from rankone.errors import InputError

if TYPE_CHECKING:
    from rankone.clicks.models.base import ClickModel

NEEDED = ["list", "query", "item", "position"]


def predicted(model: ClickModel, frame: Any) -> pl.DataFrame:
    """Return the rows with the columns click_probability and, where clicks are known, given_clicks_above."""
    table = to_polars(known_frame(frame))
    for column in NEEDED:
        if column not in table.columns:
            raise InputError(f"the columns {', '.join(NEEDED)}", f"no '{column}'", "rename the columns of the lists")
    cells, with_clicks = model.cells_, "clicked" in table.columns
    rows = table.select(
        pl.int_range(pl.len()).alias("row"),
        "list",
        *as_names(table.schema, ["query", "item"]),
        _place(table, model.position_names_),
        (pl.col("clicked").cast(pl.Int64) if with_clicks else pl.lit(0)).alias("clicked"),
    ).filter(pl.col("position").is_between(1, cells.n_positions))
    rows = numbered(rows, cells)
    found = np.full((2, table.height), np.nan)
    if rows.height:
        lists, place = matrices(rows, cells.n_positions)
        typical = model.typical_attraction()[lists.query][:, None]
        attraction = np.where(lists.item >= 0, model.item_attraction_[lists.item], typical)
        given, alone = model.chances(lists, attraction)
        found[:, rows["row"].to_numpy()] = alone[place], given[place]
    added = {"click_probability": found[0]} | ({"given_clicks_above": found[1]} if with_clicks else {})
    return table.with_columns(**{name: pl.Series(values).fill_nan(None) for name, values in added.items()})


def _place(table: pl.DataFrame, names: Sequence[str]) -> pl.Expr:
    """The position as a number, by its name where positions have names; what is neither is missing."""
    if names:
        places = {name: place for place, name in enumerate(names, 1)}
        return pl.col("position").cast(pl.String).replace_strict(places, default=None, return_dtype=pl.Int64)
    position = pl.col("position")
    return (position.fill_nan(None) if table.schema["position"].is_float() else position).cast(pl.Int64, strict=False)
