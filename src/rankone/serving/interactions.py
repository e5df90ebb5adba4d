"""What would speak against the product model: levels of two factors that are clicked more, or less, together.

Clicks are fitted by a number for each level (the Poisson likelihood of a product, by coordinate ascent) on the
combinations that were shown. For each two levels of different factors the clicks that there were are compared with
those that the product expects: the signed root of the Poisson deviance, over the standard deviation that is left to
such a difference after fitting (binomial clicks, the fit linearised). p-values are multiplied by the number of
comparisons (Bonferroni).

Clicks that scatter more than binomially would look like interactions. So where there are combinations enough, the
dispersion is what is left when every two factors have a number for each pair of their levels (Pearson's statistic over
its degrees of freedom, at least 1), and tails are Student's.

It is a hint and no verdict: it supposes that the click rate of the whole site stays as it is. Where it moves while
traffic shifts, levels that came to lead together look as if they acted together. How combinations were chosen matters
little (`python -m benchmarks interactions` measures both).
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.student import student_tail

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_ROUNDS = 30
_FEWEST = 5.0  # clicks that the product expects, below which two levels are not compared
_LEAST_LEFT = 0.02  # of the variance after fitting; where less is left, the fit follows whatever the clicks are
_LEAST_FREEDOM = 5  # degrees of freedom from which on a dispersion is estimated
_CLOSELY, _LEAST_CLOSELY = 300, 10  # pairs of levels that are looked at closely: those that differ most at a glance
_WORK = 3 * 10**7  # numbers that a close look at all of them may touch
_MOST_LEVELS = 600  # of all factors: the fit's matrix is inverted


class Together(NamedTuple):
    """Two levels of different factors, by their numbers, and how often they are clicked together."""

    factors: tuple[int, int]
    levels: tuple[int, int]
    clicks: int
    expected: float  # by the product of single levels
    p: float  # corrected for all comparisons


class _Table(NamedTuple):
    """The combinations that were shown, with the product fitted to them."""

    cells: Ints  # (n, factors)
    sizes: tuple[int, ...]
    pulls: Ints
    clicks: Ints
    expected: Floats


def fit_product(cells: Ints, pulls: Ints, clicks: Ints, sizes: tuple[int, ...]) -> list[Floats]:
    """Return a number for each level of each factor: clicks are about pulls times the product of one of each.

    Args:
        cells: (n, factors) the levels of each combination that was shown.
        pulls: (n,) outcomes of each.
        clicks: (n,).
        sizes: the number of levels of each factor.

    >>> cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> rows, cols = fit_product(cells, np.full(4, 1000), np.array([400, 200, 200, 100]), (2, 2))
    >>> np.outer(rows, cols).round(3).tolist()
    [[0.4, 0.2], [0.2, 0.1]]
    """
    found = [np.ones(size) for size in sizes]
    each = [np.bincount(cells[:, factor], clicks, size) for factor, size in enumerate(sizes)]
    for _ in range(_ROUNDS):
        for factor, size in enumerate(sizes):
            others = pulls.astype(float)
            for other in range(len(sizes)):
                if other != factor:
                    others = others * found[other][cells[:, other]]
            found[factor] = each[factor] / np.maximum(np.bincount(cells[:, factor], others, size), 1e-12)
    return found


def strongest(pulls: Ints, clicks: Ints, most: int = 5) -> list[Together]:
    """Return which two levels differ most from the product, the most striking ones first.

    Args:
        pulls: outcomes of each combination, an axis a factor.
        clicks: the same of clicks.
        most: how many at most.

    >>> shown = np.full((2, 2, 2), 1000)
    >>> strongest(shown, np.array([[[200, 100], [100, 50]], [[100, 50], [50, 100]]]))[0].p < 0.05
    True
    """
    cells = np.argwhere(pulls)
    told, clicked = pulls[tuple(cells.T)], clicks[tuple(cells.T)]
    if pulls.ndim < 3 or not clicked.any() or sum(pulls.shape) > _MOST_LEVELS:
        return []
    levels = fit_product(cells, told, clicked, pulls.shape)
    rates = np.prod([found[cells[:, factor]] for factor, found in enumerate(levels)], axis=0)
    table = _Table(cells, pulls.shape, told, clicked, told * rates)
    found, compared = _at_first_glance(table)
    dispersion, freedom = _dispersion(table)
    among, closely = _Fitted(table), []
    for each in found[: min(_CLOSELY, max(_LEAST_CLOSELY, _WORK // cells.size))]:
        left = among.left(each)
        if left > _LEAST_LEFT * each.expected:
            score = _distance(each) / math.sqrt(dispersion * left / each.expected)
            tail = 2.0 * student_tail(score, freedom) if math.isfinite(freedom) else math.erfc(score / math.sqrt(2.0))
            closely.append(each._replace(p=min(1.0, compared * tail)))
    return sorted(closely, key=lambda each: (each.p, -abs(each.clicks - each.expected)))[:most]


def _distance(each: Together) -> float:
    """Return the root of the Poisson deviance."""
    seen = each.clicks * math.log(each.clicks / each.expected) if each.clicks else 0.0
    return math.sqrt(max(0.0, 2.0 * (each.expected - each.clicks + seen)))


def _at_first_glance(table: _Table) -> tuple[list[Together], int]:
    """Return pairs of levels, those that differ most first, and how many can be compared."""
    found = []
    for first, second in combinations(range(len(table.sizes)), 2):
        both = table.cells[:, first] * table.sizes[second] + table.cells[:, second]
        size = table.sizes[first] * table.sizes[second]
        seen, wanted = (np.bincount(both, numbers, size) for numbers in (table.clicks, table.expected))
        for place in np.flatnonzero(wanted >= _FEWEST).tolist():
            pair = divmod(place, table.sizes[second])
            found.append(Together((first, second), pair, int(seen[place]), float(wanted[place]), 1.0))
    return sorted(found, key=_distance, reverse=True), len(found)


class _Fitted:
    """How far the difference of two levels can be from 0: what fitting leaves of the scatter of clicks."""

    def __init__(self, table: _Table) -> None:
        starts = np.concatenate([[0], np.cumsum(table.sizes)[:-1]])
        self._table, self._places, self._levels = table, table.cells + starts, sum(table.sizes)
        information = np.zeros(self._levels**2)
        for one in self._places.T:
            for other in self._places.T:
                information += np.bincount(one * self._levels + other, table.expected, self._levels**2)
        self._inverse = np.linalg.pinv(information.reshape(self._levels, self._levels), hermitian=True)
        self._scatter = table.expected * np.maximum(1.0 - table.expected / table.pulls, 0.0)

    def left(self, each: Together) -> float:
        """Return the variance of clicks less expected ones of two levels."""
        inside = (self._table.cells[:, each.factors] == each.levels).all(axis=1)
        share = np.zeros(self._levels)
        for column in self._places[inside].T:
            share += np.bincount(column, self._table.expected[inside], self._levels)
        weight = inside - (self._inverse @ share)[self._places].sum(axis=1)
        return float(weight**2 @ self._scatter)


def _dispersion(table: _Table) -> tuple[float, float]:
    """Return how much more than binomially clicks scatter, and the degrees of freedom of that; infinite: not known."""
    pairs = []
    for first, second in combinations(range(len(table.sizes)), 2):
        known, both = np.unique(
            table.cells[:, first] * table.sizes[second] + table.cells[:, second], return_inverse=True
        )
        pairs.append((both, len(known)))
    seen = [len(np.unique(column)) for column in table.cells.T]
    free = 1 + sum(each - 1 for each in seen)
    free += sum(size - one - other + 1 for (_, size), (one, other) in zip(pairs, combinations(seen, 2), strict=True))
    solid = table.expected >= 1.0
    freedom = int(solid.sum()) - free
    if freedom < _LEAST_FREEDOM:
        return 1.0, math.inf
    fitted = table.expected.copy()
    for _ in range(_ROUNDS):
        for both, size in pairs:
            wanted = np.bincount(both, fitted, size)
            fitted *= (np.bincount(both, table.clicks, size) / np.maximum(wanted, 1e-12))[both]
    rate = np.clip(fitted / table.pulls, 1e-9, 1.0 - 1e-9)
    pearson = ((table.clicks - fitted) ** 2 / (table.pulls * rate * (1.0 - rate)))[solid & (fitted > 0.0)].sum()
    found = float(pearson) / freedom
    return (found, float(freedom)) if found > 1.0 else (1.0, math.inf)
