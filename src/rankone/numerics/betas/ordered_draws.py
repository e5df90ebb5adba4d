"""How probable is it that independent draws come in a certain order? By one recursion over one dimension.

Item i draws from the posterior with density f_i and distribution function F_i (`numerics.betas.product_posterior`; a
Beta is the case of one rate, 1). Let H_0 = 1 and

    H_j(x) = P(a_1 > a_2 > ... > a_j > x) = integral from x to 1 of  H_(j-1) f_(a_j)

Given that a_1, ..., a_j are the j largest in this order, the next one is i with a probability proportional to

    integral of  H_j(x) E(x) r_i(x) dx,     r_i = f_i / F_i,     E = product of F over all that are left

as draws are independent. All curves lie on one grid of x, as in `numerics.betas.beta_winner`: only items that reach
beyond the floor, which at least j + 1 draws exceed almost surely, have curves (what is left out is below 1e-6); the
step is a fraction of the narrowest posterior alive; and each step is a trapezoid corrected by the derivatives at its
ends, which come for free: those of H_j are -H_(j-1) f_(a_j), of E they are E R with R the sum of all r, of r they are r
(dlog f - r).

What is divided by is the sum of the same integrals over all that are left. So probabilities add up to 1 up to rounding,
whatever the grid. A pure function of the counts: the same counts give the same bits.
"""

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.betas.product_posterior import log_height, mode_of, slope_of

_STEP = 0.7  # in standard deviations of the narrowest member alive, less where many are: their largest scatters less
_NEAR_END, _FINEST = 0.2, 4.0  # a step next to 0 or 1 is at most this part of the way there, down to a finest one
_FIRST = 1e-4  # of the smallest deviation: how close to 0 and 1 nodes are
_CORE, _GROWTH = 3.5, 3.0  # beyond so many standard deviations a step grows, by one part in so many of the distance
_REACH, _SKEW = 6.5, 14.0  # how far a curve goes: so many standard deviations, more where its tail is exponential
_MATTERS, _SKEWED = 5.3, 9.4  # the same up to where a draw comes with a probability of about 1e-7
_MOST_NODES = 4_000
_NEGLIGIBLE = -60.0  # logarithm of a density, relative to its mode
_BELOW_1 = 1.0 - 2.0**-52
# Rows of spans, of nodes, of a member's curves, and of what is compared at one step of the recursion.
MEAN, DEVIATION, LOW, HIGH, ALMOST_LOW, ALMOST_HIGH = range(6)
NODE, LOG, NODE_WEIGHT, BEND = range(4)
CDF, RATE, SLOPE = range(3)


@noalloc
def _fill_span(clicks: float, misses: Any, rates: Any, span: Any) -> float:
    """Note where a posterior lives, by the Beta of the same mode and curvature; return its mode."""
    if len(rates) == 1 and rates[0] == 1.0:
        a, b = clicks + 1.0, misses[0] + 1.0
        mode = clicks / (clicks + misses[0]) if clicks > 0.0 else 0.0
    else:
        mode = mode_of(clicks, misses, rates, 0.0)
        first, second = slope_of(clicks, misses, rates, mode)
        if mode <= 0.0:
            a, b = 1.0, 1.0 - first
        elif mode >= 1.0:
            a, b = 1.0 + first, 1.0
        else:
            a = 1.0 + second * mode * mode * (1.0 - mode)
            b = 1.0 + (a - 1.0) * (1.0 - mode) / mode
    mean = a / (a + b)
    deviation = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    span[MEAN], span[DEVIATION] = mean, deviation
    span[LOW] = mean - (_REACH + _SKEW / math.sqrt(b)) * deviation
    span[HIGH] = mean + (_REACH + _SKEW / math.sqrt(a)) * deviation
    span[ALMOST_LOW] = mean - (_MATTERS + _SKEWED / math.sqrt(b)) * deviation
    span[ALMOST_HIGH] = mean + (_MATTERS + _SKEWED / math.sqrt(a)) * deviation
    return mode


@noalloc
def _floor(spans: Any, count: int, largest: Any) -> float:
    """Return what at least `count` draws exceed almost surely: the count-th largest of the low ends."""
    size = 0
    for member in range(len(spans)):
        low, place = spans[member, ALMOST_LOW], size
        if size == count:
            if low <= largest[count - 1]:
                continue
            place = count - 1
        while place > 0 and largest[place - 1] < low:
            largest[place] = largest[place - 1]
            place -= 1
        largest[place] = low
        size += 1 if size < count else 0
    return max(largest[count - 1], 0.0)


@noalloc
def _place_nodes(spans: Any, alive: Any, n_alive: int, n_above: int, nodes: Any) -> int:
    """Place nodes over the spans of all members that are alive; return how many."""
    start, end, edge = 1.0, 0.0, 1.0
    for index in range(n_alive):
        span = spans[alive[index]]
        start, end, edge = min(start, span[LOW]), max(end, span[HIGH]), min(edge, span[DEVIATION])
    finest_low = edge / (_FINEST * (n_above + 1.0))  # the smallest of n uniform draws scatters by 1 / n
    finest_high = edge / (_FINEST * n_alive)
    x, end, size = max(start, _FIRST * edge), min(end, 1.0 - _FIRST * finest_high, _BELOW_1), 0
    part = _STEP / math.sqrt(1.0 + math.log(n_alive * (n_above + 1.0)))
    while x < end and size < len(nodes) - 1:
        nodes[size] = x
        size += 1
        step = min(end - x, max(_NEAR_END * x, finest_low), max(_NEAR_END * (1.0 - x), finest_high))
        for index in range(n_alive):
            span = spans[alive[index]]
            if span[HIGH] > x:
                limit = part * span[DEVIATION]
                if x < span[LOW]:
                    limit = max(limit, span[LOW] - x)
                else:
                    limit *= max(1.0, (abs(x - span[MEAN]) / span[DEVIATION] - _CORE) / _GROWTH)
                step = min(step, limit)
        x += step
    nodes[size] = end
    return size + 1


@noalloc
def _draw_curve(clicks: float, misses: Any, rates: Any, height: float, span: Any, grid: Any, curve: Any) -> None:
    """Fill in F, r and the derivative of r of one member; `height` is the logarithm of its density's peak."""
    total = before = rise_before = left = 0.0
    for node in range(grid.shape[1]):
        x = grid[NODE, node]
        density = rise = slope = 0.0
        if span[LOW] <= x <= span[HIGH]:
            log_density, slope = clicks * grid[LOG, node] - height, clicks / x
            for k in range(len(rates)):
                if misses[k] > 0.0:
                    log_density += misses[k] * grid[4 + 2 * k, node]
                    slope -= misses[k] * grid[5 + 2 * k, node]
            density = math.exp(log_density) if log_density > _NEGLIGIBLE else 0.0
            rise = density * slope
        step, left = x - left, x
        more = density * x / (clicks + 1.0)  # next to 0 that is exact; elsewhere a first node has nothing below it
        if node > 0:
            more = step * (0.5 * (before + density) + step / 12.0 * (rise_before - rise))
        total += max(more, 0.0)
        before, rise_before = density, rise
        rate = density / total if total > 0.0 else 0.0
        curve[CDF, node], curve[RATE, node], curve[SLOPE, node] = total, rate, rate * (slope - rate)
    for node in range(grid.shape[1]):
        curve[CDF, node] /= total


@kernel
def _grid_of(nodes: Any, rates: Any) -> Any:
    """Return the nodes with weights, and with the logarithms that densities are made of."""
    grid = np.empty((4 + 2 * len(rates), len(nodes)))
    left = 0.0
    for node in range(len(nodes)):
        x = nodes[node]
        right = nodes[node + 1] - x if node + 1 < len(nodes) else 0.0
        grid[NODE, node], grid[LOG, node] = x, math.log(x)
        grid[NODE_WEIGHT, node], grid[BEND, node] = 0.5 * (left + right), (right * right - left * left) / 12.0
        for k in range(len(rates)):
            room = 1.0 - rates[k] * x
            grid[4 + 2 * k, node], grid[5 + 2 * k, node] = math.log(room), rates[k] / room
        left = right
    return grid


@noalloc
def _multiply(product: Any, curve: Any) -> None:
    """Add a member to those that are left: the product of F, the sum of r, the sum of their derivatives."""
    for node in range(product.shape[1]):
        product[CDF, node] *= curve[CDF, node]
        product[RATE, node] += curve[RATE, node]
        product[SLOPE, node] += curve[SLOPE, node]


@noalloc
def _weigh(grid: Any, product: Any, above: Any, weights: Any) -> float:
    """Fill in the weights with which r and its derivative are summed; return the sum over all that are left.

    `above` has H and minus its derivative.
    """
    total = 0.0
    for node in range(grid.shape[1]):
        both = above[0, node] * product[CDF, node]
        bend = grid[BEND, node] * both
        weights[0, node] = grid[NODE_WEIGHT, node] * both + bend * product[RATE, node]
        weights[0, node] -= grid[BEND, node] * above[1, node] * product[CDF, node]
        weights[1, node] = bend
        total += weights[0, node] * product[RATE, node] + bend * product[SLOPE, node]
    return total


@noalloc
def _sum(weights: Any, curve: Any) -> float:
    total = 0.0
    for node in range(weights.shape[1]):
        total += weights[0, node] * curve[RATE, node] + weights[1, node] * curve[SLOPE, node]
    return max(total, 0.0)


@noalloc
def _go_below(grid: Any, curve: Any, above: Any) -> None:
    """Replace H by that of one more: the integral, from the right, of H f; only ratios of H count."""
    size = grid.shape[1]
    tail = density_right = rise_right = 0.0
    for node in range(size - 1, -1, -1):
        before = above[0, node]
        density = curve[RATE, node] * curve[CDF, node]
        rise = curve[SLOPE, node] * curve[CDF, node] + curve[RATE, node] * density  # the derivative of the density
        rise = before * rise - above[1, node] * density
        density *= before
        if node + 1 < size:
            step = grid[NODE, node + 1] - grid[NODE, node]
            tail += max(step * (0.5 * (density + density_right) + step / 12.0 * (rise - rise_right)), 0.0)
        density_right, rise_right = density, rise
        above[0, node], above[1, node] = tail, density
    if tail > 0.0:
        for node in range(size):
            above[0, node] /= tail
            above[1, node] /= tail


@kernel
def _curves_of(clicks: Any, misses: Any, rates: Any, members: Any, n_above: int) -> Any:
    """Return the grid, the curves of all who can be among the first, and the place of each member there; -1: none."""
    count = len(members)
    spans, heights = np.empty((count, 6)), np.empty(count)
    for index in range(count):
        item = members[index]
        mode = _fill_span(clicks[item], misses[item], rates, spans[index])
        heights[index] = log_height(clicks[item], misses[item], rates, mode)
    floor = _floor(spans, min(n_above + 1, count), np.empty(n_above + 1))
    alive, curve_of, n_alive = np.empty(count, np.int64), np.full(count, -1), 0
    for index in range(count):
        if spans[index, ALMOST_HIGH] > floor:
            alive[n_alive], curve_of[index] = index, n_alive
            n_alive += 1
    nodes = np.empty(_MOST_NODES)
    size = _place_nodes(spans, alive, n_alive, n_above, nodes)
    grid = _grid_of(nodes[:size], rates)
    curves = np.empty((n_alive, 3, size))
    for index in range(n_alive):
        item = members[alive[index]]
        _draw_curve(clicks[item], misses[item], rates, heights[alive[index]], spans[alive[index]], grid, curves[index])
    return grid, curves, curve_of


@kernel
def _products_of(curves: Any, curve_of: Any, n_above: int) -> Any:
    """Return, before each position and at the next, the product of those that are left: see `_multiply`."""
    products = np.zeros((n_above + 1, 3, curves.shape[2]))
    products[n_above, CDF] = 1.0
    for index in range(n_above, len(curve_of)):
        if curve_of[index] >= 0:
            _multiply(products[n_above], curves[curve_of[index]])
    for position in range(n_above - 1, -1, -1):
        products[position] = products[position + 1]
        if curve_of[position] >= 0:
            _multiply(products[position], curves[curve_of[position]])
    return products


@kernel
def ordered_chances(clicks: Any, misses: Any, rates: Any, above: Any, rest: Any, of_above: Any, of_rest: Any) -> bool:
    """Fill in how probable each of `above` was given those before it, and how probable each of `rest` is to be next.

    Args:
        clicks: (items,) of each item.
        misses: (items, rates) displays without a click at each rate.
        rates: with which an item's probability was multiplied.
        above: the items with the largest draws, the largest first.
        rest: the other items that drew.
        of_above: (above,) to be filled in.
        of_rest: (rest,) to be filled in; they add up to 1.

    Returns: False where `above` can hardly be the largest in this order: then `of_rest` is not known.
    """
    n_above, n_rest = len(above), len(rest)
    members = np.empty(n_above + n_rest, np.int64)
    members[:n_above], members[n_above:] = above, rest
    grid, curves, curve_of = _curves_of(clicks, misses, rates, members, n_above)
    products = _products_of(curves, curve_of, n_above)
    held, weights = np.zeros((2, grid.shape[1])), np.empty((2, grid.shape[1]))
    held[0] = 1.0
    of_above[:] = 0.0
    for position in range(n_above):
        total = _weigh(grid, products[position], held, weights)
        if curve_of[position] < 0 or not total > 0.0:
            return False
        of_above[position] = min(_sum(weights, curves[curve_of[position]]) / total, 1.0)
        _go_below(grid, curves[curve_of[position]], held)
    _weigh(grid, products[n_above], held, weights)
    total = 0.0
    for index in range(n_rest):
        curve = curve_of[n_above + index]
        of_rest[index] = _sum(weights, curves[curve]) if curve >= 0 else 0.0
        total += of_rest[index]
    for index in range(n_rest):
        of_rest[index] /= total if total > 0.0 else math.inf
    return total > 0.0 or n_rest == 0
