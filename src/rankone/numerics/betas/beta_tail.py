"""The part of a posterior Beta(clicks + 1, pulls - clicks + 1) above a point: how likely it is, and draws from it."""

import math
from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.numerics.betas.beta import log_coefficient, minus_log_cdf


@noalloc
def tail(pulls: int, clicks: int, x: float) -> tuple[float, float]:
    """Return P(draw > x), and x^a (1-x)^b / B(a, b) for a = clicks + 1, b = pulls - clicks + 1 (see `after_look`)."""
    coefficient = log_coefficient(pulls, clicks)
    above = -math.expm1(-minus_log_cdf(pulls, clicks, coefficient, x))
    if x <= 0.0 or x >= 1.0:
        return above, 0.0
    log_height = coefficient + math.log(clicks + 1.0)
    return above, math.exp(log_height + (clicks + 1.0) * math.log(x) + (pulls - clicks + 1.0) * math.log1p(-x))


@noalloc
def after_look(pulls: int, clicks: int, clicked: int, x: float, above: float, height: float) -> tuple[float, float]:
    """Return what `tail` would after another outcome, from what it was before; pulls and clicks are those before.

    The distribution function of Beta(a, b) at x changes by x^a (1-x)^b / (a B(a, b)) when a grows by one, and by the
    same with b below when b does. What rounding leaves is below 1e-13 after ten thousand looks.
    """
    a, b = clicks + 1.0, pulls - clicks + 1.0
    if clicked:
        above += height / a
        height *= x * (a + b) / a
    else:
        above -= height / b
        height *= (1.0 - x) * (a + b) / b
    return min(max(above, 0.0), 1.0), height


@noalloc
def draw_above(pulls: int, clicks: int, x: float, rng: Any) -> float:
    """Draw from the part above x, where that has a probability of at most a quarter.

    x is then above the mode, unless there were no misses (with one miss, the worst, 1 - 2 / e = 0.264 lies above), and
    as the logarithm of the density is concave, its tangent at x lies above it: an exponential, of which the density's
    share is kept. Without clicks, or without misses, the distribution function is inverted.
    """
    misses = pulls - clicks
    if clicks == 0:
        return 1.0 - (1.0 - x) * (1.0 - rng.random()) ** (1.0 / (misses + 1.0))
    if misses == 0:
        below = x ** (clicks + 1.0)
        return (below + (1.0 - below) * (1.0 - rng.random())) ** (1.0 / (clicks + 1.0))
    room = 1.0 - x
    rate = max(misses / room - clicks / x, 0.0)
    share = -math.expm1(-rate * room)
    while True:
        step = room * rng.random() if share < 1e-9 else -math.log1p(-rng.random() * share) / rate
        if step >= room:
            continue
        log_ratio = clicks * math.log1p(step / x) + misses * math.log1p(-step / room) + rate * step
        if math.log(1.0 - rng.random()) <= log_ratio:
            return x + step
