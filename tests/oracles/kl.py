"""Bernoulli KL and its inverses, obviously right and slow: 80 digits and bisection (mpmath)."""

from __future__ import annotations

import mpmath
from mpmath import mpf

DIGITS = 80
HALVINGS = 150  # of an interval of at most 1e11: 1e-34 is left


def bernoulli_kl(p: float | mpf, q: float | mpf) -> mpf:
    """Return p log(p/q) + (1-p) log((1-p)/(1-q)), where 0 log 0 = 0 and a log(a/0) is infinite."""
    with mpmath.workdps(DIGITS):
        return _term(mpf(p), mpf(q)) + _term(1 - mpf(p), 1 - mpf(q))


def _term(a: mpf, b: mpf) -> mpf:
    if a == 0:
        return mpf(0)
    return a * mpmath.log(a / b) if b > 0 else mpf("inf")


def kl_lower(p: float | mpf, radius: float) -> mpf:
    """Smallest q in [0, p] with d(p, q) <= radius, by bisection for x = -log q."""
    with mpmath.workdps(DIGITS):
        p = mpf(p)
        if p == 0:
            return p
        inside, outside = -mpmath.log(p), (mpf(radius) + 1) / p  # d(p, q) >= p x - log 2
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            if bernoulli_kl(p, mpmath.exp(-middle)) <= radius:
                inside = middle
            else:
                outside = middle
        return mpmath.exp(-inside)


def kl_upper(p: float, radius: float) -> mpf:
    """Largest q in [p, 1] with d(p, q) <= radius: the lower bound with successes and failures swapped."""
    with mpmath.workdps(DIGITS):
        return 1 - kl_lower(1 - mpf(p), radius)
