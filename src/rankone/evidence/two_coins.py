"""Were two stretches of tosses of one coin? Evidence that seldom misleads, however long one looks (`docs/proofs.md`).

Moments at which a coin may have changed are the multiples of 8, 16, 32, ... tosses, of each the last four, so that
memory is bounded and splits lie at distances from the end that grow geometrically. The m-th multiple of 8 * 2^j has
weight 1 / ((j + 1) (j + 2) m (m + 1)).
"""

import math

from rankone.compiling.compiled import noalloc
from rankone.numerics.betas.beta import log_mixture

FIRST = 8  # tosses: the finest distance of moments
SIZES, KEPT = 24, 4  # distances of moments, and how many are kept of each


@noalloc
def apart(tosses_1: float, heads_1: float, tosses_2: float, heads_2: float) -> float:
    """Return the squared distance of two stretches in standard errors; -1 where they cannot differ.

    The log evidence that they are of two coins is at most that: it is at most n1 d(p1, p) + n2 d(p2, p), and
    d(q, p) <= (q - p)^2 / (p (1 - p)).
    """
    tosses, heads = tosses_1 + tosses_2, heads_1 + heads_2
    if heads <= 0.0 or heads >= tosses or tosses_1 <= 0.0 or tosses_2 <= 0.0:
        return -1.0
    p = heads / tosses
    more = heads_1 - p * tosses_1
    return more * more * (1.0 / tosses_1 + 1.0 / tosses_2) / (p * (1.0 - p))


@noalloc
def two_coins(tosses_1: float, heads_1: float, tosses_2: float, heads_2: float, least: float) -> float:
    """Return the log evidence that two stretches are of two coins; anything below `least` where it is below that."""
    distance = apart(tosses_1, heads_1, tosses_2, heads_2)
    if distance < 0.0 or distance < least:  # cheap, and nearly always enough
        return -math.inf
    tosses, heads = tosses_1 + tosses_2, heads_1 + heads_2
    p = heads / tosses
    one = heads * math.log(p) + (tosses - heads) * math.log(1.0 - p)
    return log_mixture(tosses_1, heads_1) + log_mixture(tosses_2, heads_2) - one


@noalloc
def moment_cost(size: int, number: int) -> float:
    """Return minus the log weight of the `number`-th multiple of 8 * 2^size."""
    return math.log((size + 1.0) * (size + 2.0) * number * (number + 1.0))
