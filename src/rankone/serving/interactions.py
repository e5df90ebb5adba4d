"""What would speak against the product model: levels of two factors that are clicked more together, or less.

If levels are a product, x is clicked r times as often as y of the same factor, beside whatever level z of another. So
the ratio beside z is compared with the ratio beside the others, by the sums of `rankone.kernels.together`, whose
differences are 0 but for chance **whatever the click rate of the whole site does and however combinations are chosen**,
if r stays as it is at all times (`python -m benchmarks interactions` measures all three). With ``X, Y`` and ``X', Y'``
these sums,

    score = (X Y' - X' Y) / sqrt(V Y'^2 + V' Y^2),       V = (r x + r^2 y) M

where V is the variance of X - r Y if r is the ratio beside all, x and y are what a click on either counts (the sum of
squares over the sum), and M is what clicks on y would count on average, by X and Y together. Where clicks scatter more
from each dozen to the next than coins do, as alarms measure it, variances are that much larger; ratios that scatter
more slowly are not allowed for. p-values are normal, and multiplied by the number of comparisons (Bonferroni).

It is a hint, for one look: whoever looks often sees small p-values more often. What holds for any number of looks is
the alarm that levels are no product (`rankone.kernels.watching`); it needs more clicks.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from rankone.kernels.evidence import Floats, Ints
from rankone.kernels.together import Together

_FEWEST = 5.0  # clicks on either level, beside z and elsewhere, that are expected: of fewer, scores are not normal
_EITHER = 2  # levels: a ratio beside one of them and beside the other is compared once


class Acting(NamedTuple):
    """Two levels of different factors that are clicked more together than their product says, by their numbers."""

    factors: tuple[int, int]
    level: int  # of the first factor
    other: int  # level of the first factor, with which it is compared
    beside: int  # level of the second factor
    times: float  # as often as beside the others `level` is clicked for each click on `other`
    p: float  # corrected for all comparisons


def strongest(together: Together, living: list[Ints], scatter: float = 1.0, most: int = 5) -> list[Acting]:
    """Return for each two factors the levels that differ most from the product, the most striking ones first.

    Args:
        together: what clicks count; nothing where nobody asks.
        living: the numbers of the living levels of each factor, numbered factor after factor.
        scatter: how much more than those of coins clicks vary.
        most: how many at most.
    """
    if not len(together.sums):
        return []
    found: dict[tuple[int, int], Acting] = {}
    compared = 0
    for first, second in permutations(range(len(living)), 2):
        levels, beside = living[first], living[second]
        if len(levels) < _EITHER or len(beside) < _EITHER:
            continue
        x, y = (levels[list(each)] for each in zip(*combinations(range(len(levels)), 2), strict=True))
        over, under = (together.sums[together.pairs[one, other]][:, beside] for one, other in ((x, y), (y, x)))
        scores, times = _scores(over, under)
        if len(beside) == _EITHER:
            scores[:, 1] = np.nan
        known = ~np.isnan(scores)
        compared += int(known.sum())
        if known.any():
            coin, place = np.unravel_index(int(np.nanargmax(np.abs(scores))), scores.shape)
            level, other, factor = int(x[coin]), int(y[coin]), float(times[coin, place])
            if factor < 1.0:
                level, other, factor = other, level, 1.0 / factor
            start, offset = together.starts[first], together.starts[second]
            p = math.erfc(abs(float(scores[coin, place])) / math.sqrt(2.0 * scatter))
            one = Acting(
                (first, second), int(level - start), int(other - start), int(beside[place] - offset), factor, p
            )
            both = (min(first, second), max(first, second))
            found[both] = min(found.get(both, one), one, key=lambda each: each.p)
    corrected = [each._replace(p=min(1.0, compared * each.p)) for each in found.values()]
    return sorted(corrected, key=lambda each: (each.p, -each.times))[:most]


def _scores(over: Floats, under: Floats) -> tuple[Floats, Floats]:
    """Return how far ratios beside each level are from those beside the others, and how many times as large.

    Args:
        over: (pairs, levels beside, 2) what clicks on x count, sums and sums of squares.
        under: the same of y.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = over[..., 0].sum(axis=1, keepdims=True) / under[..., 0].sum(axis=1, keepdims=True)
        here = _Side(over, under, ratio)
        there = _Side(over.sum(axis=1, keepdims=True) - over, under.sum(axis=1, keepdims=True) - under, ratio)
        differs = here.over * there.under - there.over * here.under
        scores = differs / np.sqrt(here.variance * there.under**2 + there.variance * here.under**2)
        times = (here.over + 0.5 * here.of_over) / (here.under + 0.5 * here.of_under)
        times = times * (there.under + 0.5 * there.of_under) / (there.over + 0.5 * there.of_over)
        enough = np.minimum(here.fewest, there.fewest) >= _FEWEST
    return np.where(enough, scores, np.nan), times


class _Side:
    """One of two sets of clicks whose ratios are compared."""

    def __init__(self, over: Floats, under: Floats, ratio: Floats) -> None:
        self.over, self.under = over[..., 0], under[..., 0]
        self.of_over, self.of_under = _each_counts(over), _each_counts(under)
        # What clicks on y would count: by both, each as sure as it is.
        weights = ratio / self.of_over + 1.0 / self.of_under
        mean = (self.over / self.of_over + self.under / self.of_under) / weights
        self.variance = mean * (ratio * self.of_over + ratio**2 * self.of_under)
        self.fewest = np.minimum(mean * ratio / self.of_over, mean / self.of_under)


def _each_counts(sums: Floats) -> Floats:
    """Return what a click counts, a little towards what clicks beside all levels do."""
    everywhere = sums.sum(axis=1, keepdims=True)
    return (sums[..., 1] + everywhere[..., 1] / everywhere[..., 0]) / (sums[..., 0] + 1.0)
