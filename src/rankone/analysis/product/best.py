"""Which level of each factor is best and how far the others are from it, whichever is truly best.

The best level is chosen by the data, so bounds compare each level with every rival (Hsu, "Multiple comparisons", 1996,
chapter 4): as a share of the best, a level is between its lowest lower bound and its lowest upper bound against any
rival. One whose upper bound is below 1 is not best.

All such calls of all factors together are wrong with probability `doubt` at most, whatever is true, also where levels
tie: if M levels of a factor with K are best, M (K - 1) comparisons can go wrong. Nobody knows M, so all levels are
taken to be among the best until they are called out; then the rest is compared once more, with that many comparisons
sharing the doubt (Holm 1979: while no best level is out, those that are not out are at least the best ones, so a first
wrong call has probability `doubt` at most).

The rate of the best combination is chosen by the data, too; its lower bound is therefore one for every combination that
might have been chosen (Zrnic and Fithian, "Locally simultaneous inference", 2024: with a tenth of the doubt find the
levels that another draw might have put first, and spend the rest on their combinations).

**How many more impressions** settle which levels are best if the fitted rates are true? A level is out once its
distance from the best one is as many standard errors as its bound asks for, and some more: enough for all open
comparisons to be settled six times out of ten at least (Bonferroni).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from rankone.analysis.product.intervals import Intervals
from rankone.clicks.counts.dispersion import Dispersion
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.product_fit import Design

_ALL_RIVALS = 8  # levels up to which all are compared with all
_RIVALS = 3
_MISSED = 0.4  # share of repetitions in which that many impressions may turn out too few
_SELECTION = 0.1  # share of the doubt that finds what might have been chosen


class LevelBounds(NamedTuple):
    """The levels of one factor against the best of them, as ratios."""

    best: int  # place of the level with the highest value
    ratio: Floats
    low: Floats
    high: Floats
    doubt: float  # of each comparison of two levels


class Bounded(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


def level_bounds(intervals: Intervals, doubt: float, best: Sequence[int | None] | None = None) -> list[LevelBounds]:
    """Compare the levels of every factor; all calls that a level is not the best one are right, but for `doubt`.

    Each interval by itself is missed with probability `doubt` at most, too. `best` has, for factors whose levels cannot
    all be compared and so none has the highest value, the level to give ratios to.
    """
    sizes = intervals.design.sizes
    best = [None] * len(sizes) if best is None else best
    able: Sequence[int] = sizes
    while True:
        each = doubt / max(1, sum(number * (size - 1) for number, size in zip(able, sizes, strict=True)))
        bounds = [
            _factor_bounds(intervals, factor, min(each, doubt / 2.0 / max(1, size - 1)), top)
            for factor, (size, top) in enumerate(zip(sizes, best, strict=True))
        ]
        still = [int((bound.high >= 1.0).sum()) for bound in bounds]
        if sum(still) == sum(able):
            return bounds
        able = still


def _factor_bounds(intervals: Intervals, factor: int, doubt: float, best: int | None) -> LevelBounds:
    design = intervals.design
    start, size = int(design.starts[factor]), design.sizes[factor]
    x = intervals.fitted.x[start : start + size]
    best = int(np.argmax(x)) if best is None else best
    low, high = np.zeros(size), np.zeros(size)
    if size > 1:
        upper = _upper_bounds(intervals, factor, best, doubt)
        low = np.minimum(0.0, np.nanmin(-upper, axis=0))  # of a against j: minus the upper bound of j against a
        high = np.minimum(0.0, np.nanmin(upper, axis=1))
    with np.errstate(invalid="ignore"):
        ratio = np.exp(x - x[best])
    comparable = [intervals.comparable(ratio_contrast(design.n_levels, start + a, start + best)) for a in range(size)]
    return LevelBounds(best, np.where(comparable, ratio, np.nan), np.exp(low), np.exp(high), doubt)


def ratio_contrast(n_levels: int, first: int, second: int) -> Floats:
    """One level of a factor against another."""
    contrast = np.zeros(n_levels)
    contrast[first] += 1.0
    contrast[second] -= 1.0
    return contrast


def _upper_bounds(intervals: Intervals, factor: int, best: int, doubt: float) -> Floats:
    """Bounds (size, size) of log level a - log level j; NaN where they are not needed."""
    if not intervals.profiled:
        return intervals.upper_by_curvature(factor, doubt)
    design = intervals.design
    start, size = int(design.starts[factor]), design.sizes[factor]
    clicks, shown = design.level_clicks[start : start + size] + 0.5, design.level_shown[start : start + size] + 1.0
    rate, error = np.log(clicks / shown), 2.0 / np.sqrt(clicks)
    # Of many levels only those are compared that can decide a bound: surely good ones, and ones that may be very good.
    sure = {best, *np.argsort(rate - error)[::-1][:_RIVALS].tolist()}
    hopeful = {best, *np.argsort(rate + error)[::-1][:_RIVALS].tolist()}
    upper = np.full((size, size), np.nan)
    for a in range(size):
        for j in range(size):
            if a != j and (size <= _ALL_RIVALS or j in sure or a in hopeful):
                upper[a, j] = intervals.upper(ratio_contrast(design.n_levels, start + a, start + j), doubt)
    return upper


def candidates(intervals: Intervals, best: Ints, doubt: float) -> int:
    """How many combinations might have been the best ones of another draw of the data."""
    design = intervals.design
    comparisons = max(1, design.n_levels - len(design.sizes))

    def might_lead(level: int, top: int) -> bool:
        contrast = ratio_contrast(design.n_levels, level, top)
        reach = 2.0 * intervals.quantile(contrast, _SELECTION * doubt / comparisons)
        return intervals.upper_at(contrast, reach) >= 0.0

    number = 1
    for start, size, top in zip(design.starts.tolist(), design.sizes, best.tolist(), strict=False):
        number *= sum(
            level == top or not intervals.profiled or might_lead(level, top) for level in range(start, start + size)
        )
    return number


def contrast_bounds(intervals: Intervals, contrast: Floats, doubt: float, best: Ints | None = None) -> Bounded:
    """A contrast as a rate or ratio; if it is of the `best` levels, its lower bound allows for their choice."""
    value = intervals.value(contrast) if intervals.comparable(contrast) else math.nan
    of_lower = doubt if best is None else (1.0 - _SELECTION) * doubt / candidates(intervals, best, doubt)
    return Bounded(_exp(value), _exp(intervals.lower(contrast, of_lower)), _exp(intervals.upper(contrast, doubt)))


def whole_rate(shown: Ints, clicked: Ints, cell: int, scatter: Dispersion, doubt: float) -> Bounded:
    """The rate of the cell that was chosen among all for its rate, each cell taken by itself."""
    alone = Intervals(Design.of(np.zeros((1, 1), np.int64), (1,), shown[[cell]], clicked[[cell]]), scatter)
    rates, errors = np.log((clicked + 0.5) / (shown + 1.0)), scatter.value / (clicked + 0.5)
    one = np.ones(1)
    reach = 2.0 * alone.quantile(one, _SELECTION * doubt / max(1, len(shown) - 1))
    number = int((rates[cell] - rates <= reach * np.sqrt(errors[cell] + errors)).sum())
    lower, upper = alone.lower(one, (1.0 - _SELECTION) * doubt / number), alone.upper(one, doubt)
    return Bounded(float(clicked[cell] / shown[cell]), math.exp(lower), math.exp(upper))


def _exp(value: float) -> float:
    return math.inf if value >= 700.0 else math.exp(value)


def impressions_needed(intervals: Intervals, bounds: Sequence[LevelBounds]) -> float:
    """Return how many more impressions are needed; 0 where all is settled, inf where levels tie or were not clicked."""
    design = intervals.design
    still_open = [
        (factor, level)
        for factor, bound in enumerate(bounds)
        for level in range(design.sizes[factor])
        if level != bound.best and bound.high[level] >= 1.0
    ]
    times = 1.0
    for factor, level in still_open:
        start, best = int(design.starts[factor]), bounds[factor].best
        contrast = ratio_contrast(design.n_levels, start + level, start + best)
        wanted = intervals.quantile(contrast, bounds[factor].doubt)
        upper, behind = intervals.upper_at(contrast, wanted), -intervals.value(contrast)
        if not (behind > 1e-9 and math.isfinite(behind) and math.isfinite(upper)):
            return math.inf
        error = (upper + behind) / wanted
        spare = NormalDist().inv_cdf(1.0 - _MISSED / len(still_open))
        times = max(times, ((wanted + spare) * error / behind) ** 2)
    return (times - 1.0) * float(np.sum(design.shown))
