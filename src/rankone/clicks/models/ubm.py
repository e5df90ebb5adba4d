"""User browsing model: examination depends on the position and on the position of the click before.

Dupret, Piwowarski, "A user browsing model to predict search engine click data from past observations" (SIGIR 2008),
section 3: P(click | clicks above) = attraction * g[position, position of the click before]. It is fitted as the
position-based model is, with a place for every (position, click before); very long lists, by EM.
"""

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Lists
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior
from rankone.clicks.models.fitting.climb import run_climb
from rankone.clicks.models.fitting.em import product_em
from rankone.clicks.models.pbm import check_stopping, start_fit
from rankone.numerics.arrays import Floats
from rankone.problems import lists

_MOST_POSITIONS = 30  # the climb's matrix has a row for every place, positions squared


@dataclasses.dataclass(eq=False, kw_only=True)
class UBM(ClickModel):
    """User browsing model; the examination probabilities are shared by all queries.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
        tolerance: nats by which the objective may be below its maximum (lists of more than 30 positions: stop when no
            click probability moved by more than this in an iteration of EM).
        max_iterations: EM stops after this many iterations anyway (`converged_` says so).
    """

    name = "ubm"
    title = "user browsing model"
    needs_lists = True

    prior: tuple[float, float] = (1.0, 2.0)
    tolerance: float = 1e-6
    max_iterations: int = 1_000

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Run EM over all queries together."""
        check_stopping(self.tolerance, self.max_iterations)
        places = cells.n_positions + 1
        together, place = np.array([0, cells.n_items]), cells.position * places + cells.previous
        fit = start_fit(cells, together, place, cells.n_positions * places, 0.5)
        prior = check_prior(self.prior)
        if cells.n_positions > _MOST_POSITIONS or self.tolerance <= 0.0:
            self.log_likelihoods_ = product_em(fit, prior, self.tolerance, self.max_iterations, True, progress)
        else:
            self.log_likelihoods_ = run_climb(fit, prior, self.tolerance, progress)
        self.n_iter_, self.converged_ = int(fit.iterations[0]), bool(fit.converged[0])
        self.item_attraction_ = fit.attraction
        self.curves_ = fit.examination.reshape(cells.n_positions, places)

    @property
    def n_parameters_(self) -> int:
        """Items, and the examination of every position after every click above."""
        self._check_fitted()
        return self.cells_.n_items + len(self.curves_) * (len(self.curves_) + 1) // 2 - 1

    @property
    def examination_(self) -> pl.DataFrame:
        """One row per position and position of the click before (0: none above)."""
        self._check_fitted()
        position, previous = np.tril_indices(len(self.curves_))
        return pl.DataFrame(
            {"position": position + 1, "previous": previous, "examination": self.curves_[position, previous]}
        )

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.UBM:
        return lists.UBM(self.item_attraction_[items], self.curves_[:positions, : positions + 1], **named)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Follow the distribution of the latest click down the list for the chances without knowledge of clicks."""
        positions = np.arange(attraction.shape[1])
        conditional = attraction * self.curves_[positions, lists.previous]
        latest = np.zeros((len(attraction), len(positions) + 1))  # P(the latest click so far is at position k)
        latest[:, 0] = 1.0
        marginal = np.empty_like(attraction)
        for position in positions:
            click = attraction[:, position, None] * self.curves_[position] * lists.shown[:, position, None]
            marginal[:, position] = (latest * click).sum(axis=1)
            latest *= 1.0 - click
            latest[:, position + 1] = marginal[:, position]
        return conditional, marginal
