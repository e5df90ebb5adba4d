"""Intervals of click rates that hold however often one looks, as long as the rates do not move.

For one combination with N outcomes and mean m, ``M(x) = KT(outcomes) / likelihood(outcomes; x)``, KT the
Krichevsky-Trofimov mixture (the Beta(1/2, 1/2) marginal), is a martingale with mean 1 under the true x, so it ever
reaches 1 / a with probability at most a (Ville). Its logarithm is ``N d(m, x) - R``, R the mixture's regret.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.numerics.mixture import mixture_regret

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def bounds(pulls: Ints, clicks: Ints, level: float, low: Floats, high: Floats) -> None:
    """Fill in, for each combination, the rates with ``N d(mean, x) - R <= level``: an interval valid at all times."""
    for place in range(len(pulls)):
        low[place], high[place] = 0.0, 1.0
        if pulls[place] > 0:
            rate = clicks[place] / pulls[place]
            radius = (level + mixture_regret(pulls[place], clicks[place])) / pulls[place]
            low[place], high[place] = kl_lower(rate, radius), kl_upper(rate, radius)


def intervals(pulls: Ints, clicks: Ints, error: float = 0.05) -> tuple[Floats, Floats]:
    """Return (low, high) of every pair's click rate; each holds at all times with probability 1 - error.

    >>> low, high = intervals(np.array([[100]]), np.array([[50]]))
    >>> bool(low[0, 0] < 0.4 < 0.6 < high[0, 0])
    True
    """
    low, high = np.empty(pulls.size), np.empty(pulls.size)
    compiled(bounds, __name__)(pulls.ravel(), clicks.ravel(), -math.log(error), low, high)
    return low.reshape(pulls.shape), high.reshape(pulls.shape)
