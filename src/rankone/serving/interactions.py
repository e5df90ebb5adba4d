"""What would speak against the product model: levels of two factors that are clicked more, or less, together.

Clicks are fitted by a number for each level (the Poisson likelihood of a product, by coordinate ascent) on the
combinations that were shown. For each two levels of different factors, the clicks that there were are compared with
those that the product expects, by the normal tail of the root of the Poisson deviance; p-values are multiplied by the
number of comparisons (Bonferroni). It is a hint and no verdict: it supposes click rates that stay as they are, and what
was shown as if nobody had looked at clicks. `rankone analyse` tests every two factors.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_ROUNDS = 30
_FEWEST = 5.0  # clicks that the product expects, below which two levels are not compared


class Together(NamedTuple):
    """Two levels of different factors, by their numbers, and how often they are clicked together."""

    factors: tuple[int, int]
    levels: tuple[int, int]
    clicks: int
    expected: float  # by the product of single levels
    p: float  # corrected for all comparisons


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
    >>> strongest(shown, np.array([[[200, 100], [100, 50]], [[100, 50], [50, 100]]]))[0].levels
    (1, 1)
    """
    cells = np.argwhere(pulls)
    told, clicked = pulls[tuple(cells.T)], clicks[tuple(cells.T)]
    if pulls.ndim < 3 or not clicked.any():
        return []
    levels = fit_product(cells, told, clicked, pulls.shape)
    expected = told * np.prod([found[cells[:, factor]] for factor, found in enumerate(levels)], axis=0)
    found, compared = [], 0
    for first, second in combinations(range(pulls.ndim), 2):
        size = pulls.shape[first] * pulls.shape[second]
        both = cells[:, first] * pulls.shape[second] + cells[:, second]
        seen, wanted = np.bincount(both, clicked, size), np.bincount(both, expected, size)
        places = np.flatnonzero(wanted >= _FEWEST)
        compared += len(places)
        for place in places.tolist():
            pair = divmod(place, pulls.shape[second])
            found.append(Together((first, second), pair, int(seen[place]), float(wanted[place]), 1.0))
    found = [each._replace(p=min(1.0, compared * _tail(each.clicks, each.expected))) for each in found]
    return sorted(found, key=lambda each: (each.p, -abs(each.clicks - each.expected)))[:most]


def _tail(clicks: int, expected: float) -> float:
    """Return how probable a difference of this size is, in either direction, of a Poisson number."""
    deviance = 2.0 * (expected - clicks + (clicks * math.log(clicks / expected) if clicks else 0.0))
    return math.erfc(math.sqrt(max(0.0, deviance) / 2.0))
