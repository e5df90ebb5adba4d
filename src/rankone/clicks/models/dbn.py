"""Dynamic Bayesian network: satisfaction by item as in SDBN, and a user who may give up after any position.

Chapelle, Zhang, "A dynamic Bayesian network click model for web search ranking" (WWW 2009), section 3: after a skip,
and after a click that did not satisfy, the user goes on with probability gamma, which is the same everywhere.
"""

from __future__ import annotations

import numpy as np

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import ClickModel, smoothed_share
from rankone.clicks.models.browsing import Tails, skips_above
from rankone.clicks.models.sdbn import SDBN
from rankone.numerics.arrays import Floats


class DBN(SDBN):
    """Dynamic Bayesian network; `perseverance_` is gamma. There is no closed form: without tails it is SDBN."""

    name = "dbn"
    title = "dynamic Bayesian network"

    def _learn_closed(self, cells: Cells, prior: tuple[float, float]) -> None:
        super()._learn_closed(cells, prior)
        self.perseverance_ = 1.0

    def _start(self, cells: Cells) -> Floats:
        return np.append(self._satisfaction, 0.9)

    @property
    def n_parameters_(self) -> int:
        """One more than SDBN has."""
        return super().n_parameters_ + 1

    def _take(self, values: Floats) -> None:
        self._satisfaction, self.perseverance_ = values[:-1], float(values[-1])

    def _chances(self, tails: Tails, attraction: Floats, others: Floats) -> tuple[Floats, float]:
        after_click, _ = super()._chances(tails, attraction, others[:-1])
        gamma = float(others[-1])
        return np.where(tails.last_position > 0, gamma * after_click, 1.0), gamma

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        size, gamma = len(tails.clicks), float(values[-1])
        satisfied = np.where(tails.last_item >= 0, values[size:-1][tails.last_item], 0.5)
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

    def _of_going_on(self, tails: Tails, values: Floats) -> float:
        steps = float(tails.went_on.sum() + skips_above(tails))
        return super()._of_going_on(tails, values[:-1]) + steps * float(np.log(values[-1]))

    _as_list = ClickModel._as_list  # type: ignore[assignment]  # no world of lists has it

    def _going_on(self, lists: Lists) -> Floats:
        return self.perseverance_ * super()._going_on(lists)

    def _after_skip(self) -> float:
        return self.perseverance_
