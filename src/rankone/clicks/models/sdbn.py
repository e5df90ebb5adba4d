"""Simplified dynamic Bayesian network: after a click the user is satisfied with a probability that depends on the item.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 4.2 (gamma = 1). In
their closed form (``method="closed"``) satisfaction is the share of an item's clicks that are the last of their list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import per_item, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, Tails
from rankone.numerics.arrays import Floats
from rankone.problems import lists


class SDBN(BrowsingModel):
    """Simplified dynamic Bayesian network."""

    name = "sdbn"
    title = "simplified dynamic Bayesian network"

    def _learn_closed(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Share of clicks that are the last, per item of a query."""
        self._satisfaction = smoothed_share(per_item(cells, cells.last_clicks), per_item(cells, cells.clicks), prior)

    def _start(self, cells: Cells) -> Floats:
        return self._satisfaction

    @property
    def n_parameters_(self) -> int:
        """Attraction and satisfaction of every item."""
        return super().n_parameters_ + len(self._satisfaction)

    def _take(self, values: Floats) -> None:
        self._satisfaction = values

    def _chances(self, tails: Tails, attraction: Floats, others: Floats) -> tuple[Floats, float]:
        known = np.where(tails.last_item >= 0, 1.0 - others[tails.last_item], 0.5)
        return np.where(tails.last_position > 0, known, 1.0), 1.0

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        seen = tails.times * tails.clicked
        ended = tails.per_last_item(seen * (1.0 - examined[:, 0]))
        satisfied = smoothed_share(ended, tails.went_on + tails.per_last_item(seen), prior)
        return np.concatenate([self._attraction_step(tails, examined, prior), satisfied])

    def _of_going_on(self, tails: Tails, values: Floats) -> float:
        return float((tails.went_on * np.log1p(-values[len(tails.clicks) :])).sum())

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
