"""Simplified dynamic Bayesian network: after a click the user is satisfied with a probability that depends on the item.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 4.2 (gamma = 1). In
their closed form (``method="closed"``) satisfaction is the share of an item's clicks that are the last of their list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import per_item, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, OfItems, Tails
from rankone.numerics.arrays import Floats, Ints
from rankone.problems import lists


class SDBN(BrowsingModel):
    """Simplified dynamic Bayesian network."""

    name = "sdbn"
    title = "simplified dynamic Bayesian network"

    def _closed(self, cells: Cells, prior: tuple[float, float]) -> Floats:
        """Share of clicks that are the last, per item of a query."""
        return smoothed_share(per_item(cells, cells.last_clicks), per_item(cells, cells.clicks), prior)

    def _after_click(self, attraction: Floats, others: Floats, of_items: OfItems, position: Ints) -> Floats:
        return 1.0 - of_items(others)

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        seen = tails.times * tails.clicked
        ended = tails.per_last_item(seen * (1.0 - examined[:, 0]))
        satisfied = smoothed_share(ended, tails.went_on + tails.per_last_item(seen), prior)
        return np.concatenate([self._attraction_step(tails, examined, prior), satisfied])

    @property
    def satisfaction_(self) -> pl.DataFrame:
        """One row per item of a query: probability that a click on it ends the search."""
        self._check_fitted()
        return self.cells_.items.with_columns(satisfaction=self._others[: self.cells_.n_items])

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.SDBN:
        return lists.SDBN(self.item_attraction_[items], self._others[items], positions, **named)
