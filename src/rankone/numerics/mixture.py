"""The Krichevsky-Trofimov mixture: what it costs not to know a click rate beforehand.

KT(outcomes), the Beta(1/2, 1/2) marginal, is a probability of the outcomes of one pair that needs no rate. Divided by
their likelihood under the true rate it is a martingale with mean 1, for any rule of choosing pairs and of stopping; so
it ever reaches 1 / a with probability at most a (Ville). Statements that hold however often one looks rest on it.
"""

import math

from rankone.compiling.compiled import noalloc
from rankone.numerics.log_gamma import log_gamma


@noalloc
def log_mixture(pulls: float, clicks: float) -> float:
    """Return the logarithm of KT(outcomes)."""
    misses = pulls - clicks
    return log_gamma(clicks + 0.5) + log_gamma(misses + 0.5) - log_gamma(pulls + 1.0) - math.log(math.pi)


@noalloc
def mixture_regret(pulls: int, clicks: int) -> float:
    """How much likelier the outcomes are under their own mean than under the mixture, in logarithm.

    >>> round(mixture_regret(1, 1), 6), mixture_regret(0, 0)      # KT gives a first click 1/2
    (0.693147, 0.0)
    """
    if pulls == 0:
        return 0.0
    rate, misses = clicks / pulls, pulls - clicks
    likelihood = 0.0
    if clicks > 0:
        likelihood += clicks * math.log(rate)
    if misses > 0:
        likelihood += misses * math.log1p(-rate)
    return likelihood - log_mixture(pulls, clicks)
