"""The posterior of one factor of products: a probability q that was seen only through products q * rate, with known
rates.

With `clicks` in all and `misses[k]` at rates[k], and a uniform prior, its density on [0, 1] is proportional to ::

    exp h(q),   h(q) = clicks log q + sum over k of  misses[k] log(1 - rates[k] q)

h is concave, so draws are made by rejection from three pieces that lie above it: a level at the mode, and tangents on
both sides that touch where h has fallen by about 1. Some three draws in four are kept, whatever the counts are.

::

            _______            the level of the mode, from LEFT to RIGHT
           /  ...  \\
          / .     . \\          tangents: exponentials, falling with RISE and FALL
         /.         .\\
        /.           . \\

A *hull* is the array of these five numbers: it can be kept until the counts or the rates change.
"""

import math
from typing import Any

from rankone.compiling.compiled import noalloc

# Fields of a hull: the mode, the ends of its level, and the slopes of the tangents beyond (0: there is none).
MODE, LEFT, RIGHT, RISE, FALL = range(5)
HULL = 5
_STEPS = 40
_CLOSE = 1e-3  # how near, in standard deviations, the mode has to be found ...
_RAISED = 1e-6  # ... and how much the hull is raised, so that it lies above h all the same


@noalloc
def slope_of(clicks: float, misses: Any, rates: Any, q: float) -> tuple[float, float]:
    """Return the first derivative of h, and the second with its sign turned."""
    first, second = 0.0, 0.0
    if clicks > 0.0:
        first, second = clicks / q, clicks / (q * q)
    for k in range(len(misses)):
        if misses[k] > 0:
            room = 1.0 - rates[k] * q
            pull = rates[k] / room if room > 0.0 else math.inf
            first -= misses[k] * pull
            second += misses[k] * pull * pull
    return first, second


@noalloc
def _drop(clicks: float, misses: Any, rates: Any, q: float, mode: float) -> float:
    difference = clicks * math.log(q / mode) if clicks > 0.0 else 0.0
    for k in range(len(misses)):
        if misses[k] > 0:
            room = 1.0 - rates[k] * q
            if room <= 0.0:
                return -math.inf
            difference += misses[k] * math.log(room / (1.0 - rates[k] * mode))
    return difference


@noalloc
def log_height(clicks: float, misses: Any, rates: Any, q: float) -> float:
    """Return h(q)."""
    height = clicks * math.log(q) if clicks > 0.0 else 0.0
    for k in range(len(misses)):
        if misses[k] > 0:
            height += misses[k] * math.log(1.0 - rates[k] * q)
    return height


@noalloc
def mode_of(clicks: float, misses: Any, rates: Any, guess: float) -> float:
    """Return where h is largest, by Newton's method kept between bounds."""
    low, high = 0.0, 1.0
    if clicks <= 0.0:
        return 0.0
    if slope_of(clicks, misses, rates, 1.0)[0] >= 0.0:
        return 1.0
    q = guess if 0.0 < guess < 1.0 else 0.5
    for _ in range(_STEPS):
        first, second = slope_of(clicks, misses, rates, q)
        if first > 0.0:
            low = q
        else:
            high = q
        if abs(first) <= _CLOSE * math.sqrt(second):
            break
        step = q + first / second
        q = step if low < step < high else 0.5 * (low + high)
    return q


@noalloc
def make_hull(clicks: float, misses: Any, rates: Any, hull: Any) -> None:
    """Fill in the hull; what it holds as the mode is where the search begins."""
    mode = hull[MODE] = mode_of(clicks, misses, rates, hull[MODE])
    hull[LEFT], hull[RIGHT], hull[RISE], hull[FALL] = 0.0, 1.0, 0.0, 0.0
    first, second = slope_of(clicks, misses, rates, mode)
    if clicks <= 0.0 and first == 0.0:  # nothing was seen: uniform
        return
    at_end = mode <= 0.0 or mode >= 1.0
    reach = 1.0 / abs(first) if at_end else 1.4 / math.sqrt(second)
    a, b = mode - reach, mode + reach
    if mode > 0.0 and a > 0.0:
        rise = slope_of(clicks, misses, rates, a)[0]
        hull[RISE], hull[LEFT] = rise, min(a - _drop(clicks, misses, rates, a, mode) / rise, mode)
    if mode < 1.0 and b < 1.0:
        fall = -slope_of(clicks, misses, rates, b)[0]
        hull[FALL], hull[RIGHT] = fall, max(b + _drop(clicks, misses, rates, b, mode) / fall, mode)


@noalloc
def draw_factor(clicks: float, misses: Any, rates: Any, hull: Any, rng: Any) -> float:
    """Draw from the posterior whose hull this is."""
    left, right, rise, fall = hull[LEFT], hull[RIGHT], hull[RISE], hull[FALL]
    before = -math.expm1(-rise * left) if rise > 0.0 else 0.0  # shares of the exponentials that lie in [0, 1]
    after = -math.expm1(-fall * (1.0 - right)) if fall > 0.0 else 0.0
    areas = (before / rise if rise > 0.0 else 0.0), right - left, (after / fall if fall > 0.0 else 0.0)
    total = areas[0] + areas[1] + areas[2]
    while True:
        point, height = rng.random() * total, 0.0
        if point < areas[1]:
            q = left + point
        elif point < areas[1] + areas[0]:
            step = -math.log1p(-rng.random() * before) / rise
            q, height = left - step, -rise * step
        else:
            step = -math.log1p(-rng.random() * after) / fall
            q, height = right + step, -fall * step
        if 0.0 < q < 1.0:
            kept = _drop(clicks, misses, rates, q, hull[MODE]) - height - _RAISED
            if math.log1p(-rng.random()) <= kept:
                return q


@noalloc
def draw_factors(clicks: Any, misses: Any, rates: Any, hulls: Any, stale: Any, drawn: Any, rng: Any) -> None:
    """Draw every factor from its posterior; hulls that are `stale` are made anew first."""
    for each in range(len(drawn)):
        if stale[each]:
            make_hull(clicks[each], misses[each], rates, hulls[each])
            stale[each] = 0
        drawn[each] = draw_factor(clicks[each], misses[each], rates, hulls[each], rng)
