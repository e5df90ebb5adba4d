"""Were two stretches of tosses of one coin? Evidence that seldom misleads, however long one looks.

Of a coin's tosses, n1 with x1 heads and n2 with x2 heads, the evidence that they were two coins is

    E = KT(x1, n1) KT(x2, n2) / max over p of  p^x (1 - p)^(n - x),      x = x1 + x2,  n = n1 + n2

where KT(x, n) = B(x + 1/2, n - x + 1/2) / pi is the probability that Krichevsky and Trofimov (1981) give to tosses one
by one, before each is seen. **Proof** that it seldom misleads: if it was one coin with chance p, the denominator is at
least the probability of what was seen, and the numerator is a probability of it too, where before each toss it is known
to which stretch it belongs. So E is at most a martingale that starts at 1, and by Ville's inequality E ever reaches 1/e
with probability at most e, for any policy and at any look. A weighted average of such E has the same property, and
hence so has the largest E times its weight, if weights are fixed before and sum to at most 1.

**Moments** at which a coin may have changed are the multiples of 8, 16, 32, ... tosses, of each the last four, so that
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
