"""What the models with a chance to go on after each click share: DCM and SDBN.

The user reads from the top; after a skip always goes on, after a click goes on with a probability that the model
states. Attraction is estimated on the positions at or above the last click (all of them in a list without clicks),
which maximises a lower bound of the likelihood in closed form.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import ClickModel, FitProgress, per_item, smoothed_share
from rankone.clicks.models.pbm import check_prior
from rankone.deprecation import old_positions


@old_positions()
@dataclasses.dataclass(eq=False, kw_only=True)
class BrowsingModel(ClickModel):
    """A model in which the user may go on after a click.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
    """

    needs_lists = True

    prior: tuple[float, float] = (1.0, 2.0)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Estimate attraction, then what follows a click."""
        prior = check_prior(self.prior)
        self.item_attraction_ = smoothed_share(per_item(cells, cells.clicks), per_item(cells, cells.examined), prior)
        self._learn_continuation(cells, prior)

    def _learn_continuation(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Estimate the probability to go on after a click."""
        raise TypeError(f"{type(self).__name__} must define _learn_continuation(cells, prior)")

    def _going_on(self, lists: Lists) -> Floats:
        """Probability to go on after a click, for each list and position."""
        raise TypeError(f"{type(self).__name__} must define _going_on(lists)")

    def predict(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Carry the probability that a position is examined down the list, given the clicks above and not."""
        going_on = self._going_on(lists)
        conditional, marginal = np.empty_like(attraction), np.empty_like(attraction)
        given = np.ones(len(attraction))  # P(examined | clicks above)
        free = np.ones(len(attraction))  # P(examined)
        for position in range(attraction.shape[1]):
            a, on = attraction[:, position] * lists.shown[:, position], going_on[:, position]
            conditional[:, position], marginal[:, position] = given * a, free * a
            skipped = given * (1.0 - a) / np.maximum(1.0 - given * a, 1e-300)
            given = np.where(lists.clicked[:, position], on, skipped)
            free = free * (1.0 - a + a * on)
        return conditional, marginal
