"""Dynamic Bayesian network and its simplified form: a click satisfies with a probability that depends on the item.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 3: after a skip,
and after a click that did not satisfy, the user goes on with probability gamma, which is the same everywhere. Section
4.2: the simplified one has gamma = 1. In its closed form (``method="closed"``) satisfaction is the share of an item's
clicks that are the last of their list.
"""

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import ClickModel, per_item, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, OfItems, Tails, skips_above
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
