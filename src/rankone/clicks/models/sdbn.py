"""Simplified dynamic Bayesian network: after a click the user is satisfied with a probability that depends on the item.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 4.2 (gamma = 1):
satisfaction is the share of an item's clicks that are the last of their list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import per_item, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel
from rankone.problems import lists


class SDBN(BrowsingModel):
    """Simplified dynamic Bayesian network."""

    name = "sdbn"
    title = "simplified dynamic Bayesian network"

    def _learn_continuation(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Share of clicks that are the last, per item of a query."""
        self._satisfaction = smoothed_share(per_item(cells, cells.last_clicks), per_item(cells, cells.clicks), prior)

    @property
    def satisfaction_(self) -> pl.DataFrame:
        """One row per item of a query: probability that a click on it ends the search."""
        self._check_fitted()
        return self.cells_.items.with_columns(satisfaction=self._satisfaction)

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.SDBN:
        return lists.SDBN(self.item_attraction_[items], self._satisfaction[items], positions, **named)

    def _going_on(self, lists: Lists) -> Floats:
        """One minus the satisfaction of the item; the query's average where the item was not fitted."""
        typical = self.typical_attraction(self._satisfaction)[lists.query][:, None]
        return 1.0 - np.where(lists.item >= 0, self._satisfaction[lists.item], typical)
