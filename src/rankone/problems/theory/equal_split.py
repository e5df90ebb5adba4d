"""What an equal split would take: all combinations get the same traffic, and the counts are judged once, at the end.

It is judged by main effects, as anyone would who believes in a product: the visitors of a level are those of all
combinations that have it, and in each factor the best level has to differ from every other one in a two-sided
two-proportion z-test (pooled variance). Bonferroni's correction is for all comparisons of all factors: any of them is
wrong with probability at most `error`. Who plans it knows the rates beforehand; it is looked at once, when the planned
visitors have come: looking earlier would spoil its error. With a margin the best level has to be no worse than any
other by more than its factor's part of the margin, in the same test of its rate times that part.
"""

import math
from statistics import NormalDist

import numpy as np

from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.problems.product import Product

_POINTS = np.linspace(-6.0, 6.0, 241)  # standard deviations of the best level's own rate


def equal_split_visitors(problem: Product, power: float, error: float = 0.05, margin: float = 0.0) -> float:
    """Return the visitors, all combinations together, after which the test names the best with probability `power`.

    With a `margin` it is enough to prove that the best is within this part of any other.

    >>> from rankone.problems import RankOne
    >>> problem = RankOne([0.5, 0.4], [0.5, 0.4])
    >>> round(equal_split_visitors(problem, power=0.5)), round(equal_split_visitors(problem, power=0.9))
    (2475, 4780)
    """
    factors = list(problem.factors.values())
    if not problem.is_plain:
        raise InputError("a product, without interactions or rules", problem.name, "leave these out")
    average = problem.best_mean * math.prod(float(each.mean() / max(each.max(), 1e-300)) for each in factors)
    margins = [np.sort(average * each / max(each.mean(), 1e-300))[::-1] for each in factors if len(each) > 1]
    if not margins:
        return 0.0
    margin_ratio = (1.0 + margin) ** (1.0 / len(factors))
    if any(not margin_ratio * each[0] > each[1] for each in margins):
        return math.inf
    level = NormalDist().inv_cdf(1.0 - error / (2.0 * sum(len(each) - 1 for each in margins)))

    def reached(visitors: float) -> bool:
        each_sure = (_power(visitors / len(each), each[0], each[1:], level, margin_ratio) for each in margins)
        return math.prod(each_sure) >= power

    low, high = 1.0, 2.0
    while not reached(high):
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _power(visitors: float, best: float, others: Floats, level: float, margin_ratio: float) -> float:
    """Return the probability that the best level's rate, times `margin_ratio`, is above all others."""
    pooled = 0.5 * (margin_ratio * best + others)  # a rate of either, if they were equal
    needed = level * np.sqrt((pooled * (margin_ratio - pooled) + pooled * (1.0 - pooled)) / visitors)
    own, theirs = margin_ratio * math.sqrt(best * (1.0 - best) / visitors), np.sqrt(others * (1.0 - others) / visitors)
    seen = margin_ratio * best + _POINTS[:, None] * own  # the comparisons share the best one's luck
    each = np.vectorize(NormalDist().cdf)((seen - needed - others) / np.maximum(theirs, 1e-300))
    weights = np.exp(-0.5 * _POINTS**2)
    return float((weights * each.prod(axis=1)).sum() / weights.sum())
