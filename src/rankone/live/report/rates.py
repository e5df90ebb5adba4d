"""Click rates: intervals that hold however often one looks, and what an equal split would have earned.

For one combination with N outcomes and mean m, ``M(x) = KT(outcomes) / likelihood(outcomes; x)``, KT the
Krichevsky-Trofimov mixture (the Beta(1/2, 1/2) marginal), is a martingale with mean 1 under the true x, so it ever
reaches 1 / a with probability at most a (Ville). Its logarithm is ``N d(m, x) - R``, R the mixture's regret. So the
interval holds at all times, as long as the rate does not move.
"""

import math

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.live.factors import Allowed, margins
from rankone.live.verdict.verdict import design_of
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import mixture_regret
from rankone.numerics.kl import kl_lower, kl_upper

_ENOUGH = 100  # outcomes of every level before the equal split is estimated


def bounds(pulls: Ints, clicks: Ints, level: float, low: Floats, high: Floats) -> None:
    """Fill in, for each combination, the rates with ``N d(mean, x) - R <= level``."""
    for index in range(len(pulls)):
        low[index], high[index] = 0.0, 1.0
        if pulls[index] > 0:
            rate = clicks[index] / pulls[index]
            radius = (level + mixture_regret(pulls[index], clicks[index])) / pulls[index]
            low[index], high[index] = kl_lower(rate, radius), kl_upper(rate, radius)


def intervals(pulls: Ints, clicks: Ints, error: float = 0.05) -> tuple[Floats, Floats]:
    """Return (low, high) of every combination's click rate; each holds at all times with probability 1 - error.

    >>> low, high = intervals(np.array([[100]]), np.array([[50]]))
    >>> bool(low[0, 0] < 0.4 < 0.6 < high[0, 0])
    True
    """
    low, high = np.empty(pulls.size), np.empty(pulls.size)
    tiered(bounds, __name__)(pulls.ravel(), clicks.ravel(), -math.log(error), low, high, size=pulls.size)
    return low.reshape(pulls.shape), high.reshape(pulls.shape)


def uniform_rate(pulls: Ints, clicks: Ints, allowed: Allowed | None = None) -> float | None:
    """Return the click rate to expect had all combinations been shown equally often, by the product model.

    It supposes click rates that stay as they are. None until every level has 100 outcomes: a policy that earns clicks
    stops showing what began badly, so what has few outcomes has too low a rate on average, and the advantage over the
    equal split would look too large.

    >>> round(uniform_rate(np.full((2, 2), 1000), np.array([[400, 200], [200, 100]])), 3)
    0.225
    """
    if margins(pulls).min() < _ENOUGH:
        return None
    if not clicks.any():
        return 0.0
    design = design_of(pulls, clicks)
    allowed = allowed or Allowed(np.empty((0, pulls.ndim), np.int64), pulls.shape)
    return allowed.mean(np.split(np.exp(design.maximise().x), design.starts[1:-1]))
