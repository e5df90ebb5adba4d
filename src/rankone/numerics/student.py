"""Student's t distribution and the chi-square one, far out in their tails too, without a library of statistics.

The tail beyond t is half the regularised incomplete Beta function I_x(v/2, 1/2) at x = v / (v + t^2), by its continued
fraction (Abramowitz, Stegun, 26.5.8 and 26.7.1); the quantile is found by halving.
"""

import functools
import math
from statistics import NormalDist

_TERMS, _HALVINGS, _TINY = 500, 200, 1e-300


def student_tail(t: float, freedom: float) -> float:
    """Return the probability to exceed t > 0.

    >>> round(student_tail(2.2281, 10), 4), round(student_tail(1.0, 1), 4)
    (0.025, 0.25)
    """
    a, b, x = freedom / 2.0, 0.5, freedom / (freedom + t * t)
    if x < (a + 1.0) / (a + b + 2.0):
        return 0.5 * _beta_share(a, b, x)
    return 0.5 * (1.0 - _beta_share(b, a, 1.0 - x))


def _beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete Beta function where its fraction converges fast, by Lentz's rule."""
    if x <= 0.0:
        return 0.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or _TINY)
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        before = value
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or _TINY)
            c = 1.0 + term / c or _TINY
            value *= c * d
        if abs(value - before) <= 1e-15 * value:
            break
    return math.exp(front) * value / a


@functools.lru_cache(maxsize=1024)
def student_quantile(share: float, freedom: float) -> float:
    """Quantile of Student's t; with infinite degrees of freedom the normal one.

    >>> round(student_quantile(0.975, math.inf), 3), round(student_quantile(0.975, 10), 2)
    (1.96, 2.23)
    """
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    if share == 0.5:
        return 0.0
    doubt, sign = (1.0 - share, 1.0) if share > 0.5 else (share, -1.0)
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > doubt:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if student_tail(middle, freedom) > doubt:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * high:
            break
    return sign * high


def chi_square_tail(value: float, freedom: int) -> float:
    """Return the probability that a chi-square variable exceeds a value, by the recursion over degrees of freedom.

    >>> round(chi_square_tail(3.841, 1), 4), round(chi_square_tail(5.991, 2), 4)
    (0.05, 0.05)
    """
    half = value / 2.0
    start = 2 - freedom % 2
    tail = math.erfc(math.sqrt(half)) if start == 1 else math.exp(-half)
    for below in range(start, freedom, 2):
        log_term = below / 2.0 * math.log(max(half, 1e-300)) - half - math.lgamma(below / 2.0 + 1.0)
        tail += math.exp(log_term)
    return min(1.0, tail)
