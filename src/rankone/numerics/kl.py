"""Bernoulli Kullback-Leibler divergence and its inverse, to relative precision 1e-9.

The bounds are those of the paper's Algorithm 1, lines 24-31: the largest q >= p and the smallest q <= p with
``pulls * d(p, q) <= level``. Everything here is scalar, compiled, and free of defaults and checks.

The upper bound is found by Newton's method from the right. d(p, .) is convex and increasing on [p, 1), so started at
any point right of the solution the iterates decrease to it. The start is the least of three upper bounds on the
solution, each sharp in another corner of the domain (see `_right_of_solution`).
"""

from __future__ import annotations

import math

from rankone.numerics.compiled import function

_MAX_STEPS = 60


@function
def bernoulli_kl(p: float, q: float) -> float:
    """Divergence d(p, q) between Bernoulli(p) and Bernoulli(q), with its limits at 0 and 1.

    >>> bernoulli_kl(0.0, 0.5) == math.log(2)
    True
    >>> bernoulli_kl(0.3, 0.0)
    inf
    """
    if p == q:
        return 0.0
    if p <= 0.0:
        return -math.log1p(-q) if q < 1.0 else math.inf
    if p >= 1.0:
        return -math.log(q) if q > 0.0 else math.inf
    if q <= 0.0 or q >= 1.0:
        return math.inf
    # log1p of the relative difference keeps the digits when p and q are close: log(p/q) = -log1p((q - p) / p).
    difference = q - p
    return -(p * math.log1p(difference / p) + (1.0 - p) * math.log1p(-difference / (1.0 - p)))


@function
def _right_of_solution(p: float, radius: float) -> float:
    """Return a point right of max{q : d(p, q) <= radius}, close to it, for 0 < p < 1."""
    pinsker = p + math.sqrt(0.5 * radius)  # d(p, q) >= 2 (q - p)^2
    small_p = p + radius + math.sqrt(radius * radius + 2.0 * radius * p)  # d(p, q) >= (q - p)^2 / (2 q)
    entropy = -p * math.log(p) - (1.0 - p) * math.log1p(-p)
    near_one = -math.expm1(-(radius + entropy) / (1.0 - p))  # d(p, q) >= -H(p) - (1 - p) log(1 - q)
    best = pinsker if pinsker < small_p else small_p
    return near_one if near_one < best else best


@function
def kl_upper(p: float, radius: float) -> float:
    """Largest q in [p, 1] with d(p, q) <= radius.

    >>> round(kl_upper(0.0, 0.1), 12) == round(1 - math.exp(-0.1), 12)
    True
    """
    if radius <= 0.0 or p >= 1.0:
        return p
    if p <= 0.0:
        return -math.expm1(-radius)
    q = _right_of_solution(p, radius)
    if q >= 1.0:  # the solution is within one rounding of 1
        return 1.0
    for _ in range(_MAX_STEPS):
        if q <= p:
            return p
        step = (bernoulli_kl(p, q) - radius) * q * (1.0 - q) / (q - p)
        if step <= 1e-15 * q:  # rounding noise from here on
            break
        q -= step
    return q


@function
def kl_lower(p: float, radius: float) -> float:
    """Smallest q in [0, p] with d(p, q) <= radius.

    >>> kl_lower(1.0, 0.1) == math.exp(-0.1)
    True
    """
    if radius <= 0.0 or p <= 0.0:
        return p
    if p >= 1.0:
        return math.exp(-radius)
    # Newton for log q keeps relative precision down to q = 1e-300: with q = exp(-x), d(p, exp(-x)) is convex in x,
    # increasing for q < p, and started left of the solution in q (right of it in x) the iterates move back to it.
    x = (radius - (p * math.log(p) + (1.0 - p) * math.log1p(-p))) / p  # from d(p, q) >= -H(p) - p log q
    start = -math.log(p)
    for _ in range(_MAX_STEPS):
        q = math.exp(-x)
        if q >= p:
            return p
        step = (bernoulli_kl(p, q) - radius) * (1.0 - q) / (p - q)
        if step <= 1e-15 * (x - start):
            break
        x -= step
    return math.exp(-x)
