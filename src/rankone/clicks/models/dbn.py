"""Dynamic Bayesian network: satisfaction by item as in SDBN, and a user who may give up after any position.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 3: after a skip,
and after a click that did not satisfy, the user goes on with probability gamma, which is the same everywhere.
"""

from __future__ import annotations

import numpy as np

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import ClickModel, smoothed_share
from rankone.clicks.models.browsing import OfItems, Tails, skips_above
from rankone.clicks.models.sdbn import SDBN
from rankone.numerics.arrays import Floats, Ints


class DBN(SDBN):
    """Dynamic Bayesian network; `perseverance_` is gamma. There is no closed form: without tails it is SDBN."""

    name = "dbn"
    title = "dynamic Bayesian network"

    def _closed(self, cells: Cells, prior: tuple[float, float]) -> Floats:
        return np.append(super()._closed(cells, prior), 1.0)

    def _start(self) -> Floats:
        return np.append(self._others[:-1], 0.9)

    @property
    def perseverance_(self) -> float:
        """Chance to go on, unless the item satisfied."""
        self._check_fitted()
        return float(self._others[-1])

    def _after_click(self, attraction: Floats, others: Floats, of_items: OfItems, position: Ints) -> Floats:
        return others[-1] * super()._after_click(attraction, others[:-1], of_items, position)

    def _after_skip(self, others: Floats) -> float:
        return float(others[-1])

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        size, gamma = len(tails.clicks), float(values[-1])
        satisfied = tails.of_last_item(values[size:-1])
        seen = tails.times * tails.clicked
        stopped = seen * (1.0 - examined[:, 0])
        of_stopped = satisfied / np.maximum(1.0 - gamma * (1.0 - satisfied), 1e-300)  # satisfied, given up otherwise
        ended = tails.per_last_item(stopped * of_stopped)
        satisfaction = smoothed_share(ended, tails.went_on + tails.per_last_item(seen), prior)
        later, there = examined[:, 1:], tails.shown[:, 1:] > 0
        on = float(tails.went_on.sum() + skips_above(tails) + (seen * examined[:, 0]).sum())
        on += float((tails.times[:, None] * later * there).sum())
        left = float((stopped * (1.0 - of_stopped)).sum())
        left += float((tails.times[:, None] * (examined[:, :-1] - later) * there).sum())
        shared = smoothed_share(np.array([on]), np.array([on + left]), prior)
        return np.concatenate([self._attraction_step(tails, examined, prior), satisfaction, shared])

    _as_list = ClickModel._as_list  # type: ignore[assignment]  # no world of lists has it
