"""Click chain model: how readily a user goes on after a click depends on how good the item was.

Guo, Liu, Kannan, Minka, Taylor, Wang, Faloutsos, "Click chain model in web search" (WWW 2009): after a skip the user
goes on with probability alpha1, after a click with alpha2 (1 - a) + alpha3 a, a the attraction of the item: it
satisfies as often as it attracts.
"""

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import smoothed_share
from rankone.clicks.models.browsing import BrowsingModel, OfItems, Tails, skips_above
from rankone.numerics.arrays import Floats, Ints


class CCM(BrowsingModel):
    """Click chain model; `alphas_` are its three chances to go on. It has no closed form: without tails they are 1."""

    name = "ccm"
    title = "click chain model"

    def _closed(self, cells: Cells, prior: tuple[float, float]) -> Floats:
        return np.ones(3)

    def _start(self) -> Floats:
        return np.array([0.9, 0.7, 0.4])

    @property
    def alphas_(self) -> pl.DataFrame:
        """One row: chance to go on after a skip, after a click on a useless item, and on one that satisfies."""
        self._check_fitted()
        return pl.DataFrame({f"alpha{index}": [value] for index, value in enumerate(self._others.tolist(), 1)})

    def _after_click(self, attraction: Floats, others: Floats, of_items: OfItems, position: Ints) -> Floats:
        a = of_items(attraction)
        return others[1] * (1.0 - a) + others[2] * a

    def _after_skip(self, others: Floats) -> float:
        return float(others[0])

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
