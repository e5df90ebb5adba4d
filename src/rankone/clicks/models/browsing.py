"""What the models share that read from the top and may stop after a click: DCM, SDBN, DBN, CCM.

The user reads from the top and goes on after a skip, and after a click, with probabilities that the model states. They
are fitted by maximum likelihood (`rankone.clicks.models.walk`). The closed forms of the literature take every position
below the last click for not examined: attraction is then the share of clicks among the positions at or above the last
click. That is biased upwards wherever readers go on and find nothing.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import ClickModel, FitProgress, per_item, smoothed_share
from rankone.clicks.models.pbm import check_prior
from rankone.clicks.models.walk import Tails, climb, read_on, tails_of
from rankone.deprecation import old_positions
from rankone.errors import InputError

METHODS = ("auto", "likelihood", "closed")
_TOLERANCE, _MOST = 1e-7, 2_000


@old_positions("min_impressions", "prior")
@dataclasses.dataclass(eq=False, kw_only=True)
class BrowsingModel(ClickModel):
    """A model in which the user may go on after a click.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
        method: "likelihood" for maximum likelihood, which needs the tails of lists in the counts; "closed" for the
            closed form of the literature; "auto" for the first where the counts have tails (`method_` says so).

    A subclass names its parameters: attractions come first, then those of `_start`. `_chances` turns them into the
    chance to go on after a click of each tail and after a skip, `_next` averages.
    """

    needs_lists = True
    read_as = "dcm"
    uses_tails = True

    prior: tuple[float, float] = (1.0, 2.0)
    method: str = "auto"

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Estimate attraction and what follows a click."""
        if self.method not in METHODS:
            raise InputError(f"method as one of {', '.join(METHODS)}", self.method, "pass method='auto'")
        prior = check_prior(self.prior)
        self.method_ = (
            "closed" if self.method == "closed" or (self.method == "auto" and self._tails is None) else "likelihood"
        )
        self.item_attraction_ = smoothed_share(per_item(cells, cells.clicks), per_item(cells, cells.examined), prior)
        self._learn_closed(cells, prior)
        if self.method_ == "closed":
            return
        if self._tails is None:
            raise InputError(
                "counts with the tails of their lists", "counts without", "read with tails=True, or method='closed'"
            )
        tails = tails_of(self._tails, cells)
        size = cells.n_items

        def step(values: Floats) -> tuple[Floats, float]:
            after_click, after_skip = self._chances(tails, values[:size], values[size:])
            chance, examined = read_on(tails, values[:size], after_click, after_skip)
            return self._next(tails, values, examined, prior), self._objective(tails, values, chance, prior)

        start = np.clip(np.concatenate([self.item_attraction_, self._start(cells)]), 1e-3, 1.0 - 1e-3)
        values, trace, self.converged_ = climb(start, step, _TOLERANCE, _MOST)
        self.n_iter_, self.log_likelihoods_ = len(trace) - 1, np.array(trace)
        self.item_attraction_ = values[:size]
        self._take(values[size:])

    def _attraction_step(self, tails: Tails, examined: Floats, prior: tuple[float, float]) -> Floats:
        """Average attraction over all examined impressions, those of tails by their chances."""
        below = tails.per_item_of_tails(examined * tails.times[:, None])
        return smoothed_share(tails.clicks, tails.certain + below, prior)

    def _objective(self, tails: Tails, values: Floats, chance: Floats, prior: tuple[float, float]) -> float:
        """Log-likelihood, and the logarithm of the prior."""
        a = values[: len(tails.clicks)]
        total = float((tails.clicks * np.log(a) + (tails.certain - tails.clicks) * np.log1p(-a)).sum())
        total += float((tails.times * np.log(chance)).sum()) + self._of_going_on(tails, values)
        return total + float((prior[0] * np.log(values) + (prior[1] - prior[0]) * np.log1p(-values)).sum())

    def _learn_closed(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Estimate the probability to go on after a click in closed form; a start where there is none."""
        raise TypeError(f"{type(self).__name__} must define _learn_closed(cells, prior)")

    def _start(self, cells: Cells) -> Floats:
        """Parameters beside attraction, to begin with."""
        raise TypeError(f"{type(self).__name__} must define _start(cells)")

    def _take(self, values: Floats) -> None:
        """Keep the parameters beside attraction."""
        raise TypeError(f"{type(self).__name__} must define _take(values)")

    def _chances(self, tails: Tails, attraction: Floats, others: Floats) -> tuple[Floats, float]:
        """Chance to go on to each tail (1 where there was no click), and to go on after a skip."""
        raise TypeError(f"{type(self).__name__} must define _chances(tails, attraction, others)")

    def _next(self, tails: Tails, values: Floats, examined: Floats, prior: tuple[float, float]) -> Floats:
        """All parameters after one step of EM."""
        raise TypeError(f"{type(self).__name__} must define _next(tails, values, examined, prior)")

    def _of_going_on(self, tails: Tails, values: Floats) -> float:
        """Part of the log-likelihood that is known: going on after the clicks and skips above the last click."""
        raise TypeError(f"{type(self).__name__} must define _of_going_on(tails, values)")

    def _going_on(self, lists: Lists) -> Floats:
        """Probability to go on after a click, for each list and position."""
        raise TypeError(f"{type(self).__name__} must define _going_on(lists)")

    def _after_skip(self) -> float:
        """Probability to go on after a skip."""
        return 1.0

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Carry the probability that a position is examined down the list, given the clicks above and not."""
        going_on, after_skip = self._going_on(lists), self._after_skip()
        conditional, marginal = np.empty_like(attraction), np.empty_like(attraction)
        given = np.ones(len(attraction))  # P(examined | clicks above)
        free = np.ones(len(attraction))  # P(examined)
        for position in range(attraction.shape[1]):
            shown = lists.shown[:, position]
            a, on = attraction[:, position] * shown, going_on[:, position]
            conditional[:, position], marginal[:, position] = given * a, free * a
            skip = np.where(shown, after_skip, 1.0)
            skipped = given * (1.0 - a) * skip / np.maximum(1.0 - given * a, 1e-300)
            given = np.where(lists.clicked[:, position], on, skipped)
            free = free * ((1.0 - a) * skip + a * on)
        return conditional, marginal


def skips_above(tails: Tails) -> float:
    """Skips above the last click: after each of them the user went on."""
    return float((tails.certain - tails.clicks).sum())
