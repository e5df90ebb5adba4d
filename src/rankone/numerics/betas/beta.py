"""The posterior of a click probability, Beta(clicks + 1, pulls - clicks + 1): its distribution, its tail and draws.

For whole parameters P(Beta(s + 1, n - s + 1) <= x) = P(Binomial(n + 1, x) > s). The terms of that sum fall off faster
than a geometric series away from the mode, so we add them from s outwards, on the side away from the mode (the other
side is the same sum with clicks and misses exchanged). Few pulls need few terms, n pulls some 10 sqrt(n) at worst.

The Krichevsky-Trofimov mixture KT(outcomes), the Beta(1/2, 1/2) marginal, is a probability of the outcomes of one pair
that needs no rate. Divided by their likelihood under the true rate it is a martingale with mean 1, for any rule of
choosing pairs and of stopping; so it ever reaches 1 / a with probability at most a (Ville). Statements that hold
however often one looks rest on it.
"""

import math
from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.numerics.log_gamma import log_gamma

# -log of a probability that never happens: e^-46 is 1e-20.
NEVER = 46.0
_NEGLIGIBLE = 1e-17
_AWAY, _FEW, _BEYOND = 1e-3, 10_000, 1.000001
_LOG_4, _LOG_5_PLUS_1 = math.log(4.0), math.log(5.0) + 1.0


@noalloc
def log_coefficient(pulls: int, clicks: int) -> float:
    """Logarithm of the binomial coefficient "pulls + 1 over clicks + 1", which `minus_log_cdf` wants."""
    return log_gamma(pulls + 2.0) - log_gamma(clicks + 2.0) - log_gamma(pulls - clicks + 1.0)


@noalloc
def minus_log_cdf(pulls: int, clicks: int, coefficient: float, x: float) -> float:
    """-log P(Beta(clicks + 1, pulls - clicks + 1) <= x), at most `NEVER`."""
    if x <= 0.0:
        return NEVER
    if x >= 1.0:
        return 0.0
    k, other, y = clicks + 1, pulls - clicks, x
    upper = k <= (pulls + 1) * x  # then add up the complement
    if upper:
        k, other, y = other + 1, clicks, 1.0 - x
        coefficient += math.log((clicks + 1.0) / k)
    log_first = coefficient + k * math.log(y) + other * math.log1p(-y)
    if log_first < -2.0 * NEVER:  # and so the whole sum, as long as there are fewer than e^46 terms
        return 0.0 if upper else NEVER
    term = total = 1.0
    odds = y / (1.0 - y)
    while term > _NEGLIGIBLE * total and other > 0:
        k += 1
        term *= other * odds / k
        total += term
        other -= 1
    log_sum = log_first + math.log(total)
    if upper:
        return -math.log1p(-math.exp(log_sum))
    return -log_sum if log_sum > -NEVER else NEVER


@noalloc
def draw_beta(pulls: int, clicks: int, rng: Any) -> float:
    """Draw from Beta(clicks + 1, pulls - clicks + 1): Cheng's algorithm BB (1978), closed forms at the edges.

    NumPy's own sampler takes a second to compile.
    """
    a, b = clicks + 1.0, pulls - clicks + 1.0
    if a == 1.0:
        return 1.0 - (1.0 - rng.random()) ** (1.0 / b)
    if b == 1.0:
        return (1.0 - rng.random()) ** (1.0 / a)
    small, large = (a, b) if a < b else (b, a)
    both = a + b
    scale = math.sqrt((both - 2.0) / (2.0 * a * b - both))
    while True:
        first, second = 1.0 - rng.random(), 1.0 - rng.random()
        logit = scale * math.log(first / (1.0 - first)) if first < 1.0 else math.inf
        ratio = small * math.exp(logit)
        if ratio == math.inf:
            continue
        bound = (small + 1.0 / scale) * logit - _LOG_4
        product = first * first * second
        if (
            small + bound - ratio + _LOG_5_PLUS_1 >= 5.0 * product  # most draws end here, without logarithms
            or bound + both * math.log(both / (large + ratio)) >= math.log(product)
        ):
            return ratio / (large + ratio) if a == small else large / (large + ratio)


@noalloc
def whole_power(base: float, exponent: int) -> float:
    """Return a power by squares: `**` has other last bits in compiled code than in plain Python.

    >>> whole_power(0.5, 3)
    0.125
    """
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@noalloc
def draw_beta_above(pulls: int, clicks: int, floor: float, rng: Any) -> float:
    """Draw as `draw_beta` does, from the same random numbers; where that is not above `floor`, any value up to it.

    At the edges a comparison of whole powers tells so, for much less than a root costs.
    """
    misses = pulls - clicks
    if clicks > 0 and misses > 0:
        return draw_beta(pulls, clicks, rng)
    uniform = 1.0 - rng.random()
    if pulls == 0:
        return 1.0 - uniform
    clear = _AWAY < floor < 1.0 - _AWAY and pulls < _FEW  # from rounding, by far
    if clicks == 0:
        below = clear and uniform > _BEYOND * whole_power(1.0 - floor, pulls + 1)
        return floor if below else 1.0 - uniform ** (1.0 / (misses + 1.0))
    below = clear and _BEYOND * uniform < whole_power(floor, pulls + 1)
    return floor if below else uniform ** (1.0 / (clicks + 1.0))


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
