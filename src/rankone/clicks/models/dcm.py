"""Dependent click model: after a click the user goes on with a probability that depends on the position.

Guo, Liu, Wang, "Efficient multiple-click models in web search" (WSDM 2009). In their closed form (section 4.2,
``method="closed"``) the probability to go on after a click at a position is the share of the clicks there that are not
the last of their list: too low, as some go on and find nothing.
"""

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, summed
from rankone.clicks.models.base import per_position, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, OfItems, Tails
from rankone.numerics.arrays import Floats, Ints
from rankone.problems import lists


class DCM(BrowsingModel):
    """Dependent click model; the continuation probabilities are shared by all queries."""

    name = "dcm"
    title = "dependent click model"
    by_position = True

    def _closed(self, cells: Cells, prior: tuple[float, float]) -> Floats:
        """Share of clicks that are not the last, per position."""
        clicks = per_position(cells, cells.clicks)
        return smoothed_share(clicks - per_position(cells, cells.last_clicks), clicks, prior)

    @property
    def n_parameters_(self) -> int:
        """Items, and a chance to go on at every position but the last."""
        return super().n_parameters_ - 1

    def _after_click(self, attraction: Floats, others: Floats, of_items: OfItems, position: Ints) -> Floats:
        return others[position]

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        seen = tails.times * tails.clicked
        place, size = np.maximum(tails.last_position - 1, 0), len(tails.went_on_at)
        on = tails.went_on_at + summed(place, seen * examined[:, 0], size)
        going_on = smoothed_share(on, tails.went_on_at + summed(place, seen, size), prior)
        return np.concatenate([self._attraction_step(tails, examined, prior), going_on])

    @property
    def continuation_(self) -> pl.DataFrame:
        """One row per position: probability to go on after a click there."""
        self._check_fitted()
        return pl.DataFrame({"position": np.arange(1, len(self._others) + 1), "continuation": self._others})

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.DCM:
        leaves = np.clip(1.0 - self._others[:positions], 1e-6, 1.0)  # a position that nobody leaves is no world
        return lists.DCM(self.item_attraction_[items], leaves, **named)
