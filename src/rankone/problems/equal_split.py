"""What a classic test would take: all pairs get the same traffic, and the counts are compared once, at the end.

The best pair has to differ from each of the other K L - 1 pairs in a two-sided two-proportion z-test (pooled variance)
at the level error / (K L - 1), Bonferroni's; with more factors, the best combination from all others. Who plans it
knows the rates beforehand; it is looked at once, when the planned visitors have come: looking earlier would spoil its
error.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from rankone.errors import InputError
from rankone.problems.product import Product
from rankone.problems.rank_one import RankOne

_POINTS = np.linspace(-6.0, 6.0, 241)  # standard deviations of the best pair's own rate


def equal_split_visitors(problem: RankOne | Product, power: float, error: float = 0.05) -> float:
    """Return the visitors, all pairs together, after which the test names the best pair with probability `power`.

    Pairs that differ from the best one in one level decide that; the others are worse, and easier to tell.

    >>> problem = RankOne([0.5, 0.4], [0.5, 0.4])
    >>> round(equal_split_visitors(problem, power=0.5)), round(equal_split_visitors(problem, power=0.9))
    (4286, 8752)
    """
    factors = list(problem.factors.values()) if isinstance(problem, Product) else [problem.rows, problem.cols]
    if isinstance(problem, Product) and not problem.is_plain:
        raise InputError("a product, without interactions or rules", problem.name, "leave these out")
    others = np.concatenate(
        [problem.best_mean * np.delete(each, each.argmax()) / max(each.max(), 1e-300) for each in factors]
    )
    pairs = math.prod(len(each) for each in factors)
    if not len(others):
        return 0.0
    if not problem.best_mean > others.max():
        return math.inf
    level = NormalDist().inv_cdf(1.0 - error / (2.0 * (pairs - 1)))
    low, high = 1.0, 2.0
    while _power(high, problem.best_mean, others, level) < power:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _power(middle, problem.best_mean, others, level) < power else (low, middle)
    return pairs * high


def _power(visitors: float, best: float, others: np.ndarray[tuple[int], np.dtype[np.float64]], level: float) -> float:
    """Return the probability that the best pair differs from all others, with so many visitors each."""
    pooled = 0.5 * (best + others)
    needed = level * np.sqrt(2.0 * pooled * (1.0 - pooled) / visitors)
    own, theirs = math.sqrt(best * (1.0 - best) / visitors), np.sqrt(others * (1.0 - others) / visitors)
    found = best + _POINTS[:, None] * own  # the pairs share the best one's luck
    each = _normal((found - needed - others) / np.maximum(theirs, 1e-300))
    weights = np.exp(-0.5 * _POINTS**2)
    return float((weights * each.prod(axis=1)).sum() / weights.sum())


def _normal(x: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the normal distribution function."""
    return 0.5 * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))
