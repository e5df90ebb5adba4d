"""Click chain model: how readily a user goes on after a click depends on how good the item was.

Guo, Liu, Kannan, Minka, Taylor, Wang, Faloutsos, "Click chain model in web search" (WWW 2009): after a skip the user
goes on with probability alpha1, after a click with alpha2 (1 - a) + alpha3 a, a the attraction of the item: it
satisfies as often as it attracts.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, Tails, skips_above
from rankone.numerics.arrays import Floats


class CCM(BrowsingModel):
    """Click chain model; `alphas_` are its three chances to go on. It has no closed form: without tails they are 1."""

    name = "ccm"
    title = "click chain model"

    def _learn_closed(self, cells: Cells, prior: tuple[float, float]) -> None:
        self._alphas = np.ones(3)

    def _start(self, cells: Cells) -> Floats:
        return np.array([0.9, 0.7, 0.4])

    @property
    def n_parameters_(self) -> int:
        """Items, and three chances to go on."""
        return super().n_parameters_ + 3

    def _take(self, values: Floats) -> None:
        self._alphas = values

    @property
    def alphas_(self) -> pl.DataFrame:
        """One row: chance to go on after a skip, after a click on a useless item, and on one that satisfies."""
        self._check_fitted()
        return pl.DataFrame({f"alpha{index}": [value] for index, value in enumerate(self._alphas.tolist(), 1)})

    def _chances(self, tails: Tails, attraction: Floats, others: Floats) -> tuple[Floats, float]:
        a = np.where(tails.last_item >= 0, attraction[tails.last_item], 0.5)
        on = others[1] * (1.0 - a) + others[2] * a
        return np.where(tails.last_position > 0, on, 1.0), float(others[0])

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        a, (_, low, high) = values[:-3], values[-3:]
        on = low * (1.0 - a) + high * a
        pleased_on, pleased_left = a * high / on, a * (1.0 - high) / np.maximum(1.0 - on, 1e-300)
        seen = tails.times * tails.clicked
        went = tails.went_on + tails.per_last_item(seen * examined[:, 0])  # clicks, by item
        left = tails.per_last_item(seen * (1.0 - examined[:, 0]))
        pleased = went * pleased_on + left * pleased_left
        below = tails.per_item_of_tails(examined * tails.times[:, None])
        attraction = smoothed_share(tails.clicks + pleased, tails.certain + below + went + left, prior)
        later, there = examined[:, 1:], tails.shown[:, 1:] > 0
        skipped = skips_above(tails) + float((tails.times[:, None] * examined[:, :-1] * there).sum())
        skipped_on = skips_above(tails) + float((tails.times[:, None] * later * there).sum())
        tops = [skipped_on, float((went * (1.0 - pleased_on)).sum()), float((went * pleased_on).sum())]
        unpleased = float((went * (1.0 - pleased_on) + left * (1.0 - pleased_left)).sum())
        alphas = smoothed_share(np.array(tops), np.array([skipped, unpleased, float(pleased.sum())]), prior)
        return np.concatenate([attraction, alphas])

    def _of_going_on(self, tails: Tails, values: Floats) -> float:
        a, (skip, low, high) = values[:-3], values[-3:]
        steps = float((tails.went_on * np.log(low * (1.0 - a) + high * a)).sum())
        return steps + skips_above(tails) * float(np.log(skip))

    def _going_on(self, lists: Lists) -> Floats:
        typical = self.typical_attraction()[lists.query][:, None]
        a = np.where(lists.item >= 0, self.item_attraction_[lists.item], typical)
        return self._alphas[1] * (1.0 - a) + self._alphas[2] * a

    def _after_skip(self) -> float:
        return float(self._alphas[0])
