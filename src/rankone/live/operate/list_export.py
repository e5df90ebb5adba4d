"""All lists of a ranking as a table, one row per position: `rankone.evaluate_lists` reads it unchanged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankone.live.fold.list_fold import ListFold
from rankone.live.journal.events import Texts
from rankone.live.journal.packing import unpack_chances, unpack_shown
from rankone.live.lists import MAX_POSITIONS, OTHER, limits_of

if TYPE_CHECKING:
    import polars as pl

_EACH = ("position", "shown", "pin", "item_chance")


def list_columns(texts: Sequence[Texts]) -> dict[str, pl.Series]:
    """Return what each list showed, as columns of lists: positions, items, names of what was pinned, probabilities."""
    import polars as pl

    shown = [unpack_shown(text.shown or b"") for text in texts]
    chances = [
        unpack_chances(text.cross_chances) or [None] * len(each) for text, each in zip(texts, shown, strict=True)
    ]
    pins = []
    for text, each in zip(texts, shown, strict=True):
        limits = limits_of(text)
        pinned = json.loads(limits).get("pinned", {}) if limits else {}
        pins.append([pinned.get(str(at)) for at in range(1, len(each) + 1)])
    return {
        "position": pl.Series([list(range(1, len(each) + 1)) for each in shown], dtype=pl.List(pl.Int64)),
        "shown": pl.Series([list(each) for each in shown], dtype=pl.List(pl.Int64)),
        "pin": pl.Series(pins, dtype=pl.List(pl.String)),
        "item_chance": pl.Series([list(each) for each in chances], dtype=pl.List(pl.Float64)),
    }


def by_position(table: pl.DataFrame, fold: ListFold) -> pl.DataFrame:
    """Return a table with a row for each position of each list, its item by name, and whether that was clicked.

    Where it was told how many positions were seen, nothing is known of those below.
    """
    import polars as pl

    table = table.explode(_EACH)
    told, position = table["told"].fill_null(0).to_numpy(), table["position"].to_numpy()
    seen = told >> MAX_POSITIONS
    items = pl.lit(pl.Series(fold.items, dtype=pl.String))
    known = pl.when(pl.col("shown") < OTHER).then(pl.col("shown"))
    return table.with_columns(
        pl.Series("clicked", (told >> (position - 1)) & 1 == 1),
        pl.Series("unseen", (seen > 0) & (position >= seen)),
        pl.coalesce("pin", items.gather(known)).alias("item"),
        pl.col("pin").is_not_null().alias("pinned"),
        pl.col("item_chance").alias("chance"),
        pl.col("number").alias("list"),
    ).with_columns(pl.when(~pl.col("unseen")).then(pl.col("clicked")).alias("clicked"))
