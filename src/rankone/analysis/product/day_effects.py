"""What days change: a rate of their own for all, and what a level does on one day only.

Where both click rates and shares move from day to day, a level that was shown on good days looks good. So each slice of
time (day, for short) has an effect of its own: log rate = day + sum of levels, fitted by turns, days by their clicks
over what the levels expect, levels by a table whose impressions count as many times as their day is better than the
average one. An average day is one with the visitors of all days, so rates are those of the whole period.

Levels also move on their own: a headline that fits Monday's news has a good Monday with every image. This is common to
all combinations of that level, so it adds up where a level is judged. Its variance is estimated for each factor from
how far clicks of its levels on each day are from what days and levels expect (the estimate of Paule and Mandel, 1982:
squared distances over their variance are as many as expected), and enters the variance of every contrast.
"""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankone.clicks.counts.dispersion import LEAST_REPEATS, Dispersion
from rankone.clicks.counts.factor_counts import FactorCounts, Slices
from rankone.numerics.arrays import Floats, Mask
from rankone.numerics.product_fit import Design, null_space

_ROUNDS, _STILL = 300, 1e-7


@dataclasses.dataclass(frozen=True)
class DayEffects:
    """How many times as good as on average each day is, and impressions that count accordingly."""

    slices: Slices
    effect: Floats  # (days,), 1 on average over the impressions
    exposure: Floats  # (combinations,)

    def adjusted(self, counts: FactorCounts) -> FactorCounts:
        """Return the counts as if every day had been an average one."""
        shown = np.maximum(np.rint(self.exposure), np.maximum(counts.clicked, 1)).astype(np.int64)
        return counts._replace(shown=shown, slices=None)


def fit_days(counts: FactorCounts) -> DayEffects | None:
    """Fit an effect of each day; None where there are no days to tell apart.

    >>> when, cell = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])   # b comes on Tuesday, a better day
    >>> slices = Slices(("Mon", "Tue"), cell, when, np.array([900, 100, 100, 900]), np.array([90, 10, 20, 180]))
    >>> shown, clicked = np.array([1000, 1000]), np.array([110, 190])
    >>> counts = FactorCounts(("page",), (("a", "b"),), np.array([[0], [1]]), shown, clicked, slices=slices)
    >>> days = fit_days(counts)
    >>> days.effect.round(2).tolist(), (counts.clicked / days.exposure).round(3).tolist()
    ([0.67, 1.33], [0.15, 0.15])
    """
    slices = counts.slices
    if slices is None:
        return None
    n_days, n_cells, x = len(slices.names), len(counts.cells), None
    share = np.bincount(slices.when, slices.shown, n_days) / slices.shown.sum()
    clicks, effect = np.bincount(slices.when, slices.clicked, n_days), np.ones(n_days)
    for _ in range(_ROUNDS):
        exposure = np.maximum(np.bincount(slices.cell, slices.shown * effect[slices.when], n_cells), counts.clicked)
        design = Design.of(counts.cells, counts.sizes, exposure, counts.clicked)
        x = design.maximise(start=x).x
        expected = np.bincount(slices.when, slices.shown * design.rates(x)[slices.cell], n_days)
        moved = np.divide(clicks, expected, out=np.zeros(n_days), where=expected > 0.0)
        moved /= share @ moved
        still = np.abs(moved - effect).max() < _STILL
        effect = moved
        if still:
            break
    return DayEffects(slices, effect, exposure)


class LevelScatter(NamedTuple):
    """How much the rates of a factor's levels move on their own from day to day."""

    sd: float  # of the logarithm
    freedom: float  # degrees of freedom it was estimated from; none where days are too few


class DayVariance:
    """Variances of contrasts where days have effects, and where levels scatter from day to day.

    A contrast has an entry for each level, and a last one: how often the average day is in it (1 for a rate, 0 for a
    ratio). Days are eliminated first, so that no matrix is larger than that.
    """

    def __init__(self, design: Design, days: DayEffects, rates: Floats, dispersion: Dispersion) -> None:
        """Take the design of the combinations, their rates on an average day, and how much their clicks scatter."""
        slices, n_days = days.slices, len(days.effect)
        self._design, self._slices, self._n_days, self._dispersion = design, slices, n_days, dispersion
        self._levels = design.levels[slices.cell]
        highest = 1.0 - 0.5 / (slices.shown + 1.0)  # a fit of 1 does not mean that a miss is impossible
        self._chance = np.minimum(rates[slices.cell] * days.effect[slices.when], highest)
        self._expected = slices.shown * self._chance
        self._weight = self._expected / (1.0 - self._chance)
        self._total = np.maximum(self._by_day(self._weight), 1e-300)
        self._met = self._by_level(self._weight)
        self._part = self._met / self._total
        self._share = self._by_day(self._expected) / self._expected.sum()  # what a day adds to the average one
        inner = design.products(self._levels, self._weight) - self._part @ self._met.T
        self._inverse: Floats = np.asarray(np.linalg.pinv(inner, rcond=1e-10, hermitian=True), np.float64)
        self.null = self._null_space(days.effect[slices.when] > 0.0)
        self.scatter = [LevelScatter(0.0, math.inf)] * len(design.sizes)
        if dispersion.origin != "given":
            self.scatter = self._scatter()
        base = _bordered(self._inverse, float((self._share**2 / self._total).sum()))
        turn = _bordered(self._inverse, 1.0)
        #: Of contrasts whose average day is taken out: if combinations scatter, and if levels do.
        self.covariances = dispersion.value * base, base + turn @ self._meat() @ turn

    def reduced(self, contrast: Floats) -> Floats:
        """Take the average day out of a contrast of levels."""
        often = contrast.sum() / len(self._design.sizes)
        return np.append(contrast - often * self._part @ self._share, often)

    def variance(self, contrast: Floats) -> float:
        """The variance of a contrast."""
        reduced = self.reduced(contrast)
        return max(float(reduced @ each @ reduced) for each in self.covariances)

    def freedom(self, contrast: Floats) -> float:
        """Degrees of freedom of that variance, as far as scatter from day to day tells them."""
        used = np.add.reduceat(contrast != 0.0, self._design.starts[:-1]) > 0
        return min(each.freedom for each, own in zip(self.scatter, used, strict=True) if own)

    def of_combination(self, cell: int) -> Dispersion:
        """How much the clicks of a combination scatter around its own rate on an average day."""
        own = self._slices.cell == cell
        expected = float(self._expected[own].sum())
        days = self._share - self._by_day(self._expected * own) / expected
        levels = -self._inverse @ (self._part @ days)
        influence = levels[self._levels].sum(axis=1) + ((days / self._total) - levels @ self._part)[self._slices.when]
        influence += own * (1.0 - self._chance) / expected
        plain = float((influence**2 * self._weight).sum())
        more = sum(
            each.sd**2 * float((self._by_level(influence * self._weight)[begin:end] ** 2).sum())
            for (begin, end), each in zip(pairwise(self._design.starts), self.scatter, strict=True)
        )
        freedom = min(self._dispersion.freedom, *(each.freedom for each in self.scatter))
        variance = max(self._dispersion.value * plain, plain + more)
        return Dispersion(variance * float(self._weight[own].sum()), freedom, self._dispersion.origin)

    def _by_day(self, numbers: Floats) -> Floats:
        return np.asarray(np.bincount(self._slices.when, numbers, self._n_days), np.float64)

    def _by_level(self, numbers: Floats) -> Floats:
        total = np.zeros(self._design.n_levels * self._n_days)
        for column in self._levels.T:
            total += np.bincount(column * self._n_days + self._slices.when, numbers, len(total))
        return total.reshape(-1, self._n_days)

    def _null_space(self, used: Mask) -> Floats:
        """Directions of levels that nothing tells, whatever days do."""
        ones = used.astype(np.float64)
        met = self._by_level(ones)
        return null_space(self._design.products(self._levels, ones) - met / np.maximum(self._by_day(ones), 1.0) @ met.T)

    def _scatter(self) -> list[LevelScatter]:
        """Estimate what levels of each factor do on their own; factors with few days to tell it by share one."""
        numbers = self._expected, self._slices.clicked - self._expected, self._expected * (1.0 - self._chance)
        sums = [self._by_level(each) for each in numbers]
        by_factor = [_Distances.of(*(each[begin:end] for each in sums)) for begin, end in pairwise(self._design.starts)]
        together = _Distances(
            np.concatenate([each.table for each in by_factor], axis=1), sum(each.freedom for each in by_factor)
        )
        return [(each if each.freedom >= LEAST_REPEATS else together).scatter() for each in by_factor]

    def _meat(self) -> Floats:
        """What scatter of levels adds to the covariance of the scores."""
        size = self._design.n_levels
        total = np.zeros((size + 1, size + 1))
        order = np.argsort(self._slices.when, kind="stable")
        days = np.split(order, np.cumsum(np.bincount(self._slices.when, minlength=self._n_days))[:-1])
        for factor, ((begin, end), scatter) in enumerate(zip(pairwise(self._design.starts), self.scatter, strict=True)):
            for day, rows in enumerate(days if scatter.sd > 0.0 else ()):
                scores = np.zeros((end - begin, size))
                for column in self._levels[rows].T:
                    np.add.at(scores, (self._levels[rows, factor] - begin, column), self._weight[rows])
                levels = self._met[begin:end, day][:, None]
                scores -= levels * self._part[:, day]
                own = scatter.sd * np.hstack([scores, levels * (self._share[day] / self._total[day])])
                total += own.T @ own
        return total


class _Distances(NamedTuple):
    """How far clicks of levels on days are from what is expected."""

    table: Floats  # squared distances, their variance, what scatter adds to it, share that fitting the level leaves
    freedom: int

    @classmethod
    def of(cls, expected: Floats, off: Floats, noise: Floats) -> _Distances:
        """Take sums (levels, days); a day's effect is fitted to its levels, so it takes a share of each distance."""
        share = expected / np.maximum(expected.sum(axis=0), 1e-300)
        used = (expected > 0.0) & (share < 1.0 - 1e-9)
        freedom = int(used.sum() - used.any(axis=0).sum() - used.any(axis=1).sum()) + 1
        own = expected**2 * (1.0 - 2.0 * share + (share**2).sum(axis=0))
        left = 1.0 - expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
        return cls(np.array([each[used] for each in (off**2, noise * (1.0 - share), own, left)]), freedom)

    def scatter(self) -> LevelScatter:
        """Return the scatter with which squared distances are as large as expected."""
        if self.freedom < LEAST_REPEATS:
            return LevelScatter(0.0, math.inf)
        squares, noise, own, left = self.table
        wanted, variance = float(left.sum()), 0.0
        for _ in range(_ROUNDS):  # the sum falls and is convex: Newton's steps come from below
            within = noise + variance * own
            above = float((squares / within).sum()) - wanted
            if above <= 1e-9 * wanted:
                break
            variance += above / float((squares * own / within**2).sum())
        return LevelScatter(math.sqrt(variance), float(self.freedom))


def _bordered(inner: Floats, corner: float) -> Floats:
    result = np.pad(inner, (0, 1))
    result[-1, -1] = corner
    return result
