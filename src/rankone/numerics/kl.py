"""Bernoulli Kullback-Leibler divergence and its inverse, to relative precision 1e-9.

The bounds are those of the paper's Algorithm 1, lines 24-31: the largest q >= p and the smallest q <= p with
``pulls * d(p, q) <= level``. Everything here is scalar, compiled, and free of defaults and checks.

Both bounds are found by Newton's method from outside. d(p, .) is convex and grows away from p, so started beyond the
solution the iterates move back to it and never pass it. The start is the nearest of several bounds on the solution,
each sharp in another corner of the domain. The upper bound is solved for q, the lower one for x = -log q: so both keep
their relative precision, down to the smallest numbers there are. A bound closer to 1 than rounding can tell is 1.
"""

import math

from rankone.compiling.compiled import noalloc

_MAX_STEPS = 60
_TINY = 1e-300  # below this p is 0: no ratio q / p overflows
_CLOSE = 1e-6  # a Newton step this small, relative to the distances that matter, leaves an error of its square


@noalloc
def bernoulli_kl(p: float, q: float) -> float:
    """Divergence d(p, q) between Bernoulli(p) and Bernoulli(q), with its limits at 0 and 1.

    >>> bernoulli_kl(0.0, 0.5) == math.log(2)
    True
    >>> bernoulli_kl(0.3, 0.0)
    inf
    """
    if p == q:
        return 0.0
    if q <= 0.0 or q >= 1.0:
        return math.inf
    if p <= _TINY:
        return -math.log1p(-q)
    if p >= 1.0:
        return -math.log(q)
    # The differences q - p and p - q of the two terms cancel; with them, neither term can be negative.
    return _excess(p, q, q - p) + _excess(1.0 - p, 1.0 - q, p - q)


@noalloc
def _excess(a: float, b: float, difference: float) -> float:
    """Return ``a log(a / b) + b - a``, never negative, from a, b > 0 and b - a to its own precision."""
    x = difference / a
    if abs(x) < 0.01:  # a (x - log(1 + x)) as a series: the difference would lose the digits
        return a * x * x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * (0.2 - x * (1.0 / 6.0 - x / 7.0)))))
    return difference - a * math.log(b / a)


@noalloc
def kl_upper(p: float, radius: float) -> float:
    """Largest q in [p, 1] with d(p, q) <= radius.

    >>> round(kl_upper(0.0, 0.1), 12) == round(1 - math.exp(-0.1), 12)
    True
    """
    if radius <= 0.0 or p >= 1.0:
        return p
    if p <= _TINY:
        return -math.expm1(-radius)
    # Three points right of the solution; the first from d(p, q) >= -H(p) - (1 - p) log(1 - q).
    q = -math.expm1(-(radius + _entropy(p)) / (1.0 - p))
    q = min(q, p + _quadratic_reach(1.0 - p, radius), p + _linear_reach(p, radius))
    for _ in range(_MAX_STEPS):
        if q >= 1.0 or q <= p:  # within one rounding of an end
            break
        step = (bernoulli_kl(p, q) - radius) * q * (1.0 - q) / (q - p)
        q -= max(step, 0.0)
        if step <= _CLOSE * min(q - p, 1.0 - q) + 1e-15 * q:
            break
    return max(p, min(q, 1.0))


@noalloc
def kl_lower(p: float, radius: float) -> float:
    """Smallest q in [0, p] with d(p, q) <= radius.

    >>> kl_lower(1.0, 0.1) == math.exp(-0.1)
    True
    """
    if radius <= 0.0 or p <= 0.0:
        return p
    if p >= 1.0:
        return math.exp(-radius)
    # With q = exp(-x), d(p, exp(-x)) is convex in x too. The first start is from d(p, q) >= -H(p) - p log q.
    x = (radius + _entropy(p)) / p
    nearest = p - min(_quadratic_reach(p, radius), _linear_reach(1.0 - p, radius))
    if nearest > 0.0:
        x = min(x, -math.log(nearest))
    for _ in range(_MAX_STEPS):
        q = math.exp(-x)
        if q <= 0.0 or q >= p:  # within one rounding of an end
            break
        step = (bernoulli_kl(p, q) - radius) * (1.0 - q) / (p - q)
        x -= max(step, 0.0)
        if step <= _CLOSE * min(1.0, (p - q) / q) + 1e-15:
            break
    return min(p, math.exp(-x))


@noalloc
def _entropy(p: float) -> float:
    return -p * math.log(p) - (1.0 - p) * math.log1p(-p)


@noalloc
def _quadratic_reach(room: float, radius: float) -> float:
    """No solution is farther from p: d(p, q) >= 2 (q - p)^2 and, with `room` to the end, (q - p)^2 / (2 room)."""
    return math.sqrt(radius * min(0.5, 2.0 * room))


@noalloc
def _linear_reach(behind: float, radius: float) -> float:
    """No solution is farther from p, sharp near the end `behind` it: d(p, q) >= (q - p)^2 / (2 (behind + |q - p|))."""
    return radius + math.sqrt(radius * radius + 2.0 * radius * behind)
