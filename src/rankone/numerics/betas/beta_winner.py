"""How probable is it that each of several Betas draws the largest? By quadrature, to a relative error below 1%.

Member c draws from Beta(clicks + 1, pulls - clicks + 1), with density f_c and distribution function F_c, and wins with

    P(c wins) = integral of r_c(x) E(x) dx,     r_c = f_c / F_c,     E = product of all F

Members with the same counts are one *group*. All curves lie on one grid of x, which leaves out where E is nearly 0; the
step is a fraction of the standard deviation of the narrowest member alive there. A step adds
``h / 2 (g + g') + h^2 / 12 (dg - dg')``, the trapezoid corrected by the derivatives at its ends (Euler, Maclaurin),
which come for free: dlog f_c = clicks / x - misses / (1 - x), dr_c = r_c (dlog f_c - r_c), dE = E R with R the sum of
all r. So F, too, is a sum over the nodes. Nothing is kept between calls: the same counts give the same bits.

Use: a table of groups, `curves_of` it; then, as often as wanted, set the sizes of groups (0: absent), `compare`, and
ask for the `win_chance` of each.
"""

import math

import numpy as np

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import whole_power
from rankone.numerics.log_gamma import log_gamma

# Rows of a table of groups.
GROUP_PULLS, GROUP_CLICKS, GROUP_SIZE = range(3)
_STEP = 0.3  # in standard deviations of the narrowest member alive
_CORE, _GROWTH = 3.5, 3.0  # beyond so many standard deviations a step grows, by one part in so many of the distance
_REACH, _SKEW = 6.5, 14.0  # how far a member is alive: so many standard deviations, more where its tail is exponential
_MOST_NODES = 2_000
_NEGLIGIBLE = -60.0  # logarithm of a density
_BELOW_1 = 1.0 - 2.0**-52  # at 1 itself the logarithm of what is left is infinite
# Rows of curves. The integral of g is the sum over the nodes of ``g * weight + dg * bend``. Three rows are for what is
# compared: E, R and the derivative of R at first, then what `win_chance` wants. Each group has three: F, r and the
# derivative of r.
CURVE_X, CURVE_LOG, CURVE_LOG_REST, CURVE_WEIGHT, CURVE_BEND = range(5)
CURVE_PRODUCT, CURVE_RATE, CURVE_SLOPE, CURVE_GROUPS = range(5, 9)
# Rows of the spans of groups.
SPAN_MEAN, SPAN_DEVIATION, SPAN_LOW, SPAN_HIGH = range(4)


@noalloc
def _place_nodes(groups: Ints, n_groups: int, spans: Floats, nodes: Floats) -> int:
    """Find the span of each group, and place nodes from the lowest to the highest draw that matters; return how many.

    The floor, below which nobody wins, stands after the last node.
    """
    floor, edge = 0.0, 1.0
    for group in range(n_groups):
        clicks = groups[GROUP_CLICKS, group] + 1.0
        misses = groups[GROUP_PULLS, group] + 2.0 - clicks
        mean = clicks / (clicks + misses)
        deviation = math.sqrt(mean * (1.0 - mean) / (clicks + misses + 1.0))
        low = mean - (_REACH + _SKEW / math.sqrt(misses)) * deviation
        spans[SPAN_MEAN, group] = mean
        spans[SPAN_DEVIATION, group] = deviation
        spans[SPAN_LOW, group] = low
        spans[SPAN_HIGH, group] = mean + (_REACH + _SKEW / math.sqrt(clicks)) * deviation
        floor = low if low > floor else floor
        edge = deviation if deviation < edge else edge
    edge *= 1e-9
    start, high = floor, 0.0
    for group in range(n_groups):
        if spans[SPAN_HIGH, group] > floor:
            start = min(start, spans[SPAN_LOW, group])
            high = max(high, spans[SPAN_HIGH, group])
    x = max(start, edge)
    end = min(high, 1.0 - edge, _BELOW_1)
    size = 0
    while x < end and size < _MOST_NODES - 2:
        nodes[0, size] = x
        size += 1
        step = end - x
        for group in range(n_groups):
            if spans[SPAN_HIGH, group] > floor and spans[SPAN_HIGH, group] > x:
                deviation = spans[SPAN_DEVIATION, group]
                limit = _STEP * deviation
                if x < spans[SPAN_LOW, group]:
                    limit = max(limit, spans[SPAN_LOW, group] - x)
                else:
                    limit *= max(1.0, (abs(x - spans[SPAN_MEAN, group]) / deviation - _CORE) / _GROWTH)
                step = min(step, limit)
        x += step
    nodes[0, size] = end
    nodes[0, size + 1] = floor
    return size + 1


@noalloc
def _draw_curve(pulls: int, clicks: int, floor: float, curves: Floats, first: int) -> None:
    """Fill in the three curves of a group, from row `first` on; a floor above 0: it hardly ever wins."""
    a = float(clicks)
    b = float(pulls - clicks)
    constant = log_gamma(a + b + 2.0) - log_gamma(a + 1.0) - log_gamma(b + 1.0)
    total = density = rise = 0.0
    left = 0.0
    for node in range(curves.shape[1]):
        x = curves[CURVE_X, node]
        log_density = constant + a * curves[CURVE_LOG, node] + b * curves[CURVE_LOG_REST, node]
        before = density
        rise_before = rise
        density = math.exp(log_density) if log_density > _NEGLIGIBLE else 0.0
        slope = a / x - b / (1.0 - x)
        rise = density * slope
        step = x - left
        left = x
        more = density * x / (a + 1.0)  # next to 0 that is exact; a first node elsewhere has next to nothing below it
        if node > 0:
            more = step * (0.5 * (before + density) + step / 12.0 * (rise_before - rise))
        total += max(more, 0.0)
        rate = density / total if total > 0.0 else 0.0
        if floor > 0.0:  # F is 1 wherever somebody may win
            rate = density if x >= floor else 0.0
        curves[first, node] = total
        curves[first + 1, node] = rate
        curves[first + 2, node] = rate * (slope - rate)
    for node in range(curves.shape[1]):
        curves[first, node] = 1.0 if floor > 0.0 else curves[first, node] / total


@kernel
def curves_of(groups: Ints, n_groups: int) -> Floats:
    """Return the curves of the groups with these counts."""
    spans = np.empty((4, n_groups))
    nodes = np.empty((1, _MOST_NODES))
    size = _place_nodes(groups, n_groups, spans, nodes)
    curves = np.empty((CURVE_GROUPS + 3 * n_groups, size))
    floor = nodes[0, size]
    left = 0.0
    for node in range(size):
        x = nodes[0, node]
        right = nodes[0, node + 1] - x if node + 1 < size else 0.0
        curves[CURVE_X, node] = x
        curves[CURVE_LOG, node] = math.log(x)
        curves[CURVE_LOG_REST, node] = math.log1p(-x)
        curves[CURVE_WEIGHT, node] = 0.5 * (left + right)
        curves[CURVE_BEND, node] = (right * right - left * left) / 12.0
        left = right
    for group in range(n_groups):
        beaten = 0.0 if spans[SPAN_HIGH, group] > floor else floor
        _draw_curve(groups[GROUP_PULLS, group], groups[GROUP_CLICKS, group], beaten, curves, CURVE_GROUPS + 3 * group)
    return curves


@noalloc
def compare(groups: Ints, n_groups: int, curves: Floats) -> None:
    """Let groups of these sizes draw against each other; `win_chance` then tells who wins."""
    for node in range(curves.shape[1]):
        curves[CURVE_PRODUCT, node] = 1.0
        curves[CURVE_RATE, node] = curves[CURVE_SLOPE, node] = 0.0
    for group in range(n_groups):
        size = groups[GROUP_SIZE, group]
        first = CURVE_GROUPS + 3 * group
        if size > 0:
            for node in range(curves.shape[1]):
                curves[CURVE_PRODUCT, node] *= whole_power(curves[first, node], size)
                curves[CURVE_RATE, node] += size * curves[first + 1, node]
                curves[CURVE_SLOPE, node] += size * curves[first + 2, node]
    total = 0.0
    for node in range(curves.shape[1]):
        rate = curves[CURVE_RATE, node]
        bend = curves[CURVE_PRODUCT, node] * curves[CURVE_BEND, node]
        weight = curves[CURVE_PRODUCT, node] * curves[CURVE_WEIGHT, node] + bend * rate
        total += weight * rate + bend * curves[CURVE_SLOPE, node]
        curves[CURVE_PRODUCT, node] = weight
        curves[CURVE_RATE, node] = bend
    curves[CURVE_SLOPE, 0] = total  # the probability that somebody wins: what it is off 1 is the error of the steps


@noalloc
def win_chance(curves: Floats, group: int) -> float:
    """Return the probability that one member of a group wins among those last compared."""
    chance = 0.0
    first = CURVE_GROUPS + 3 * group
    for node in range(curves.shape[1]):
        chance += curves[CURVE_PRODUCT, node] * curves[first + 1, node]
        chance += curves[CURVE_RATE, node] * curves[first + 2, node]
    return min(max(chance, 0.0) / curves[CURVE_SLOPE, 0], 1.0)  # rounding may make it a little more
