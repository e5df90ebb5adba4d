"""Trust bias: what is on top is clicked because it is on top, so a position's click rate is no multiple of another's.

Agarwal, Wang, Li, Bendersky, Najork, "Addressing trust bias for unbiased learning-to-rank" (WWW 2019), section 4, in
the affine form of Vardasbi, Oosterhuis, de Rijke, "When inverse propensity scoring does not work" (CIKM 2020):

    P(click on item i at position k) = slope_k * a_i + floor_k.

Only the click probabilities are identified: any straight line through a can be taken up by slopes and floors. Here a_i
is the click probability at the reference, the position with the most clicks: slope 1 and floor 0 there. So a floor
below 0 elsewhere means that clicks at the reference contain more trust than there. With floors of 0 this is the
position-based model.

The likelihood is concave in the attractions given the lines, and in each line given the attractions; the two are
climbed in turns by Newton steps that are halved until they rise.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Lists, summed
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior
from rankone.clicks.models.pbm import check_stopping
from rankone.numerics.arrays import Floats, Ints

_LOWEST = 1e-6
_POINTS = 2  # items that make a line


@dataclasses.dataclass(eq=False, kw_only=True)
class TrustBias(ClickModel):
    """Affine position bias; the lines of positions are shared by all queries.

    Args:
        prior: pseudo-counts (clicks, impressions) added to the click rate of every item at the reference.
        tolerance: stop when a round of steps gains less than this many nats.
        max_iterations: stop after this many rounds anyway (`converged_` says so).

    >>> from rankone.clicks import Counts
    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b", "c", "c"], "position": [1, 2] * 3,
    ...                               "impressions": 10_000, "clicks": [6000, 3500, 4000, 2500, 2000, 1500]}))
    >>> TrustBias().fit(counts).lines_.select("position", "slope", "floor").with_columns(
    ...     pl.col("slope", "floor").round(3)).rows()
    [(1, 1.0, 0.0), (2, 0.5, 0.05)]
    """

    name = "trust-bias"
    title = "affine position bias (trust)"

    prior: tuple[float, float] = (0.5, 1.0)
    tolerance: float = 1e-5
    max_iterations: int = 2_000

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Climb attractions and lines in turns."""
        check_stopping(self.tolerance, self.max_iterations)
        fit = _Fit(cells, check_prior(self.prior))
        self.converged_, trace = False, [fit.objective()]
        for done in range(1, self.max_iterations + 1):
            fit.climb_attraction()
            fit.climb_lines()
            trace.append(fit.objective())
            progress(done, self.max_iterations)
            if trace[-1] - trace[-2] < self.tolerance:
                self.converged_ = True
                break
        self.n_iter_, self.log_likelihoods_ = len(trace) - 1, np.array(trace)
        self.item_attraction_, self.slopes_, self.floors_ = fit.a, fit.slope, fit.floor
        self.reference_ = fit.reference + 1

    @property
    def n_parameters_(self) -> int:
        """Items, and a slope and a floor of every position but the reference."""
        self._check_fitted()
        return self.cells_.n_items + 2 * (len(self.slopes_) - 1)

    @property
    def lines_(self) -> pl.DataFrame:
        """One row per position: slope and floor of the click rate there over that at the reference.

        Both are null, as the data do not say them, where fewer than two items link the position to the reference: two
        points make a line. ``items`` is how many do: shown there, and at the reference or at a position that is linked.
        """
        self._check_fitted()
        items = self._linking_items()
        table = {"position": np.arange(1, len(items) + 1), "slope": self.slopes_, "floor": self.floors_, "items": items}
        linked = (pl.col("items") >= _POINTS) | (pl.col("position") == self.reference_)
        return pl.DataFrame(table).with_columns(pl.when(linked).then(pl.col("slope", "floor")))

    def _linking_items(self) -> Ints:
        """Items of each position whose rate at the reference is known, by that itself or by a position with a line."""
        cells = self.cells_
        item, place = (each[cells.impressions > 0] for each in (cells.item, cells.position))
        known = np.arange(cells.n_positions) == self.reference_ - 1
        while True:
            is_known = np.zeros(cells.n_items, bool)
            is_known[item[known[place]]] = True
            items: Ints = np.bincount(place[is_known[item]], minlength=cells.n_positions)
            more = known | (items >= _POINTS)
            if (more == known).all():
                return items
            known = more

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Clicks above change nothing."""
        chance = np.clip(self.slopes_ * attraction + self.floors_, 0.0, 1.0)
        return chance, chance


class _Fit:
    """Attractions and lines on their way up."""

    def __init__(self, cells: Cells, prior: tuple[float, float]) -> None:
        self.item, self.place, self.n, self.c = cells.item, cells.position, cells.impressions, cells.clicks
        self.items, self.places, self.prior = cells.n_items, cells.n_positions, prior
        shown, clicked = (summed(self.place, numbers, self.places) for numbers in (self.n, self.c))
        self.reference = int(clicked.argmax())
        rate = (clicked + 0.5) / (shown + 1.0)
        self.slope = np.minimum(rate / rate[self.reference], 0.9 / _LOWEST)
        self.floor: Floats = np.zeros(self.places)
        looks = summed(self.item, self.n * self.slope[self.place], self.items)
        start = (summed(self.item, self.c, self.items) + 0.5) / (looks + 1.0)
        self.a = np.clip(start, 1e-3, 0.9 / max(1.0, float(self.slope.max())))

    def objective(self) -> float:
        """Log-likelihood, and the logarithm of the prior."""
        return float(self._each(self.a, self.slope, self.floor).sum() + _log_chance(self.a, *self.prior).sum())

    def _each(self, a: Floats, slope: Floats, floor: Floats) -> Floats:
        """Log-likelihood of each cell."""
        return _log_chance(slope[self.place] * a[self.item] + floor[self.place], self.c, self.n)

    def _slopes_of_likelihood(self) -> tuple[Floats, Floats]:
        """First derivative and information of each cell's log-likelihood in its click probability."""
        p = self.slope[self.place] * self.a[self.item] + self.floor[self.place]
        return self.c / p - (self.n - self.c) / (1.0 - p), self.c / p**2 + (self.n - self.c) / (1.0 - p) ** 2

    def climb_attraction(self) -> None:
        """One Newton step of every attraction, halved where it does not rise."""
        first, second = self._slopes_of_likelihood()
        slope, (clicks, shown) = self.slope[self.place], self.prior
        gradient = summed(self.item, first * slope, self.items) + clicks / self.a - (shown - clicks) / (1.0 - self.a)
        curvature = summed(self.item, second * slope**2, self.items)
        curvature += clicks / self.a**2 + (shown - clicks) / (1.0 - self.a) ** 2
        step = gradient / np.maximum(curvature, 1e-300)

        def height(a: Floats) -> Floats:
            return summed(self.item, self._each(a, self.slope, self.floor), self.items) + _log_chance(a, *self.prior)

        self.a = _rising(self.a, step, height)

    def climb_lines(self) -> None:
        """One Newton step of every position's line but the reference's, halved where it does not rise."""
        first, second = self._slopes_of_likelihood()
        a = self.a[self.item]
        g0, g1 = (summed(self.place, first * power, self.places) for power in (np.ones_like(a), a))
        h0, h1, h2 = (summed(self.place, second * power, self.places) for power in (np.ones_like(a), a, a * a))
        h0, h2 = h0 * (1.0 + 1e-9) + 1e-12, h2 * (1.0 + 1e-9) + 1e-12
        inverse = 1.0 / (h0 * h2 - h1 * h1)
        step = np.stack([(h0 * g1 - h1 * g0) * inverse, (h2 * g0 - h1 * g1) * inverse])
        step[:, self.reference] = 0.0

        def height(lines: Floats) -> Floats:
            return summed(self.place, self._each(self.a, lines[0], lines[1]), self.places)

        self.slope, self.floor = _rising(np.stack([self.slope, self.floor]), step, height)


def _log_chance(p: Floats, clicks: Floats | float, shown: Floats | float) -> Floats:
    """Log-likelihood of clicks that come with probability p; impossible outside (0, 1)."""
    inside = (p > _LOWEST) & (p < 1.0 - _LOWEST)
    kept = np.where(inside, p, 0.5)
    return np.where(inside, clicks * np.log(kept) + (shown - clicks) * np.log1p(-kept), -1e12)


def _rising(start: Floats, step: Floats, height: Callable[[Floats], Floats]) -> Floats:
    """Take each step as far as it rises: halve it up to 30 times, else stay."""
    before = height(start)
    share: Floats = np.ones(before.shape)
    for _ in range(30):
        worse = height(start + share * step) < before
        if not worse.any():
            break
        share = np.where(worse, share / 2.0, share)
    else:
        share = np.where(height(start + share * step) < before, 0.0, share)
    return start + share * step
