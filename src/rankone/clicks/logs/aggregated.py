"""Holding out a part of an aggregated log, whose rows are counts: impressions are drawn one by one."""

from __future__ import annotations

import numpy as np
import polars as pl


def hold_out(
    rows: pl.DataFrame, share: float, most: int, first_list: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the counts that are left, and the impressions drawn from them, each as a list of its own.

    Args:
        rows: query, item, position, clicked (clicks) and times (impressions).
        share: chance of each impression to be drawn.
        most: draw about this many at most.
        first_list: number of the first list.
        rng: source of randomness.

    >>> rows = pl.DataFrame({"query": "q", "item": "a", "position": 1, "clicked": 40, "times": 100})
    >>> kept, drawn = hold_out(rows, 0.5, 1000, 0, np.random.default_rng(0))
    >>> kept["times"].item() + len(drawn), kept["clicked"].item() + drawn["clicked"].sum()
    (100, 40)
    """
    share = min(share, most / max(1, int(rows["times"].sum())))
    hits = rng.binomial(rows["clicked"].to_numpy(), share)
    misses = rng.binomial((rows["times"] - rows["clicked"]).to_numpy(), share)
    kept = rows.with_columns(times=rows["times"] - pl.Series(hits + misses), clicked=rows["clicked"] - pl.Series(hits))
    places = np.arange(len(rows))
    drawn = rows.select("query", "item", "position")[np.concatenate([places.repeat(hits), places.repeat(misses)])]
    return kept, drawn.select(
        pl.Series("list", np.arange(len(drawn), dtype=np.int64) + first_list),
        pl.all(),
        pl.Series("clicked", (np.arange(len(drawn)) < hits.sum()).astype(np.int64)),
    )
