"""What an even test of all combinations would have earned by now, by the product model."""

from __future__ import annotations

import functools
import math

import numpy as np

from rankone.live.factors import margins
from rankone.numerics.arrays import Ints
from rankone.numerics.product_fit import Design

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
    design = Design.of(cells, pulls.shape, pulls[where], clicks[where])
    levels = np.split(np.exp(design.maximise().x), design.starts[1:-1])
    if rules is None or not len(rules) or pulls.size > _MOST_LISTED:
        return math.prod(float(each.mean()) for each in levels)
    allowed = np.ones(pulls.shape, bool)
    for rule in rules.tolist():
        allowed[tuple(slice(None) if level < 0 else level for level in rule)] = False
    return float(functools.reduce(np.multiply.outer, levels)[allowed].mean())
