"""How good the winner of a noisy table really is: rates shrunk towards what the whole table says.

Empirical Bayes allows for the winner's luck: the logarithm of a rate is a common part plus the effects of its levels
plus a part of the combination's own, each kind of effect normal around 0 with a variance that is estimated from the
table (Efron and Morris 1975; for counts by Laplace's approximation, MacKay 1992). Few levels cannot tell a variance; so
each also has a few pseudo-observations, of the size that effects have in a public archive of headline tests: 0.2 for
levels, 0.1 for what a combination adds.
"""

import numpy as np

from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.numerics.arrays import Floats, starts_of
from rankone.numerics.product_fit import Design

_LEVEL_SD, _OWN_SD, _PSEUDO = 0.2, 0.1, 2.0
_ROUNDS, _STILL = 40, 5e-3
_MOST = 400  # unknowns; of larger tables the combinations have no part of their own


def shrink(counts: FactorCounts, dispersion: float) -> Floats:
    """Return the shrunken rates of a table's cells.

    >>> cells = np.array([[0], [1], [2], [3]])
    >>> counts = FactorCounts(("page",), (tuple("abcd"),), cells, np.full(4, 100), np.array([9, 4, 5, 6]))
    >>> shrink(counts, 1.0).round(3).tolist()   # observed: 0.09, 0.04, 0.05, 0.06
    [0.066, 0.056, 0.058, 0.06]
    """
    n_cells = len(counts.cells)
    own = len(counts.factors) > 1 and n_cells + sum(counts.sizes) <= _MOST
    kinds = [*counts.sizes, *([n_cells] if own else [])]
    sizes = (1, *kinds)  # the common part first
    columns = [np.zeros(n_cells, np.int64), *counts.cells.T, *([np.arange(n_cells)] if own else [])]
    levels = np.stack(columns, axis=1) + starts_of(sizes)[:-1]
    usual = np.array([*[_LEVEL_SD] * len(counts.sizes), *([_OWN_SD] if own else [])]) ** 2
    variance = usual.copy()
    kind = np.repeat(np.arange(len(sizes)), sizes)
    x = np.zeros(sum(sizes))
    x[0] = np.log((counts.clicked.sum() + 0.5) / (counts.shown.sum() + 1.0))
    for _ in range(_ROUNDS):
        prior = np.append(1e-9, 1.0 / variance)[kind]
        design = Design(levels, sizes, counts.shown / dispersion, counts.clicked / dispersion, prior)
        there = design.maximise(start=x)
        x, spread = there.x, np.linalg.inv(there.curvature())
        squares = np.bincount(kind, x**2 + np.diag(spread))[1:]
        moved = (squares + _PSEUDO * usual) / (np.array(kinds) + _PSEUDO)
        still = np.abs(moved / variance - 1.0).max() < _STILL
        variance = moved
        if still:
            break
    return design.rates(x)
