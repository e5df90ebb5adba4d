"""What an even test of all combinations would have earned by now, by the product model."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from rankone.serving.factors import margins

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_ROUNDS = 30
_ENOUGH = 100  # outcomes of every level before the uniform split is estimated
_MOST_LISTED = 10**6  # combinations above which what is forbidden is not taken out


def uniform_rate(pulls: Ints, clicks: Ints, rules: Ints | None = None) -> float | None:
    """Return the click rate to expect had all combinations been shown equally often, by the product model.

    It supposes click rates that stay as they are. None until every level has 100 outcomes: a policy that earns clicks
    stops showing what began badly, so what has few outcomes has too low a rate on average, and the advantage over the
    uniform split would look too large.

    Args:
        pulls: outcomes of each combination, an axis a factor.
        clicks: the same of clicks.
        rules: what is forbidden, a level of each factor, -1 for any.

    >>> round(uniform_rate(np.full((2, 2), 1000), np.array([[400, 200], [200, 100]])), 3)
    0.225
    """
    if margins(pulls).min() < _ENOUGH:
        return None
    if not clicks.any():
        return 0.0
    cells = np.argwhere(pulls)
    where = tuple(cells.T)
    levels = fit_product(cells, pulls[where], clicks[where], pulls.shape)
    if rules is None or not len(rules) or pulls.size > _MOST_LISTED:
        return float(min(1.0, math.prod(float(each.mean()) for each in levels)))
    allowed = np.ones(pulls.shape, bool)
    for rule in rules.tolist():
        allowed[tuple(slice(None) if level < 0 else level for level in rule)] = False
    return float(min(1.0, functools.reduce(np.multiply.outer, levels)[allowed].mean()))


def fit_product(cells: Ints, pulls: Ints, clicks: Ints, sizes: tuple[int, ...]) -> list[Floats]:
    """Return a number for each level of each factor: clicks are about pulls times the product of one of each.

    The Poisson likelihood of a product, by coordinate ascent.

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
