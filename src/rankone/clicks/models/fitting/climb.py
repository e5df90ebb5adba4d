"""The direct climb to the maximum of a product's likelihood, with a bound of what is still missing.

With x = log a and y = log g the log-likelihood of a cell, c (x + y) + (n - c) log(1 - exp(x + y)), is concave. It is
climbed by Newton steps of a primal-dual interior-point method (Nocedal, Wright, "Numerical optimization", section
19.3): the bounds x <= 0 and y <= 0 have multipliers l, and l * (-x) is driven to nothing. The items are eliminated from
the bordered-diagonal matrix, so a step costs the cells and places^2 per item. By concavity the likelihood is at most
sum(l * (-x)) (and a Newton decrement) below its maximum: that is the gap, in nats, by which convergence is judged.

A tilt adds a multiple of a linear function of (x, y): a point of a profile likelihood (`fitting.profile`).
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled, kernel, noalloc
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.progress import Progress
from rankone.specs import number_in

NOTHING = math.log(1e-12)  # logarithm of what stands for a rate of 0
_STEPS, _HALVINGS = 200, 40
_FAR = -0.7  # logarithm of a rate from which 1 - rate loses no digits
_LOWEST = -60.0  # below this a tilt pulls a parameter to nothing: there is no maximum to find
_GROUPS_AT_ONCE = 500


class Fit(NamedTuple):
    """Data and result of a fit; group k has its own places and the items of `item_starts[k:k + 2]`."""

    item_starts: Ints  # (groups + 1,)
    item_cells: Ints  # (items + 1,): where the cells of each item start
    place: Ints  # per cell
    impressions: Floats
    clicks: Floats
    attraction: Floats  # (items,)
    examination: Floats  # (groups, places)
    iterations: Ints  # (groups,)
    converged: Mask  # (groups,)


class Group(NamedTuple):
    """One group of a fit: its cells item by item, where it stands, and room to work in.

    The parameters are the logarithms of the attractions of its items, then those of the examinations of its places.
    """

    item_cells: Ints  # (items + 1,)
    place: Ints  # per cell
    impressions: Floats
    clicks: Floats
    z: Floats  # (parameters,)
    dual: Floats  # multipliers of z <= 0
    free: Mask  # parameters that a click, or a prior, keeps off 0
    shown: Mask  # parameters with impressions
    tilt: Floats  # coefficients of the tilted function
    step: Floats  # room: slope, then step
    weight: Floats  # room: curvature
    old: Floats
    curve: Floats  # per cell: curvature
    rate: Floats  # per cell: click rate where `levels` was last taken
    rest: Floats  # per cell: one minus that
    schur: Floats  # (places, places)


@kernel
def group_of(item_cells: Ints, place: Ints, impressions: Floats, clicks: Floats, n_places: int) -> Group:
    """Return a group with nothing learned: every array is new but those of the cells."""
    size = len(item_cells) - 1 + n_places
    z, dual, tilt = np.zeros(size), np.zeros(size), np.zeros(size)
    step, weight, old = np.zeros(size), np.zeros(size), np.zeros(size)
    free, shown = np.ones(size, np.bool_), np.ones(size, np.bool_)
    curve, rate, rest = np.empty(len(place)), np.empty(len(place)), np.empty(len(place))
    schur = np.empty((n_places, n_places))
    return Group(
        item_cells, place, impressions, clicks, z, dual, free, shown, tilt, step, weight, old, curve, rate, rest, schur
    )


def run_climb(fit: Fit, prior: tuple[float, float], tolerance: float, progress: Progress) -> Floats:
    """Climb to the maximum in all groups, in portions, so that progress can be shown.

    Returns the objective at the start and at the end.
    """
    number_in("tolerance", tolerance, "(0, inf]", example=1e-6)
    groups, trace = len(fit.iterations), np.zeros(2)
    for begin in range(0, groups, _GROUPS_AT_ONCE):
        end = min(begin + _GROUPS_AT_ONCE, groups)
        compiled(climb_groups, __name__)(fit, begin, end, np.array(prior), tolerance, trace)
        progress(end, groups)
    return trace


def climb_groups(fit: Fit, begin: int, end: int, prior: Floats, tolerance: float, trace: Floats) -> None:
    """Climb from where a fit is, group by group, until at most `tolerance` nats are missing.

    `trace` is raised by the objective at the start and at the end.
    """
    for number in range(begin, end):
        _climb_group(fit, number, prior, tolerance, trace)


@kernel
def _climb_group(fit: Fit, number: int, prior: Floats, tolerance: float, trace: Floats) -> None:
    first, last = fit.item_starts[number], fit.item_starts[number + 1]
    begin, end = fit.item_cells[first], fit.item_cells[last]
    items, attraction, examination = last - first, fit.attraction[first:last], fit.examination[number]
    cells = fit.item_cells[first : last + 1] - begin
    place, shown, clicked = fit.place[begin:end], fit.impressions[begin:end], fit.clicks[begin:end]
    group = group_of(cells, place, shown, clicked, len(examination))
    start(group, attraction, examination, prior)
    trace[0] += levels(group, prior, 0.0)[0]
    gap, fit.iterations[number], height = climb(group, prior, 0.0, 1.0, tolerance)
    fit.converged[number] = gap <= tolerance
    trace[1] += height
    for item in range(items):
        attraction[item] = math.exp(group.z[item]) if group.free[item] else 1e-12
    for spot in range(len(examination)):
        if group.shown[items + spot]:  # places that were not shown keep their start
            examination[spot] = math.exp(group.z[items + spot]) if group.free[items + spot] else 1e-12


@noalloc
def start(group: Group, attraction: Floats, examination: Floats, prior: Floats) -> None:
    """Begin at given parameters, a little inside of the bounds."""
    items = len(group.item_cells) - 1
    group.step[:] = 0.0
    group.weight[:] = 0.0
    for item in range(items):
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            for parameter in (item, items + group.place[cell]):
                group.step[parameter] += group.clicks[cell]
                group.weight[parameter] += group.impressions[cell]
    for parameter in range(len(group.z)):
        value = attraction[parameter] if parameter < items else examination[parameter - items]
        group.shown[parameter] = group.weight[parameter] > 0.0
        group.free[parameter] = group.shown[parameter] and group.step[parameter] + prior[0] > 0.0
        group.z[parameter] = min(math.log(max(value, 1e-9)), -0.01) if group.free[parameter] else NOTHING
        group.dual[parameter] = -1.0 / group.z[parameter]


@noalloc
def levels(group: Group, prior: Floats, tilt: float) -> tuple[float, float]:
    """Log-likelihood (with the prior), tilted, and the barrier's sum of logarithms; keeps the cells' rates."""
    items = len(group.item_cells) - 1
    total, inside = 0.0, 0.0
    for parameter in range(len(group.z)):
        if not group.free[parameter]:
            continue
        own = group.z[parameter]
        total += prior[0] * own + tilt * group.tilt[parameter] * own
        if prior[1] > prior[0]:
            total += (prior[1] - prior[0]) * math.log(-math.expm1(own))
        inside += math.log(-own)
        if parameter >= items:
            continue
        for cell in range(group.item_cells[parameter], group.item_cells[parameter + 1]):
            spot = items + group.place[cell]
            if group.free[spot]:
                z, missed = own + group.z[spot], group.impressions[cell] - group.clicks[cell]
                rate = math.exp(z)
                rest = 1.0 - rate if z < _FAR else -math.expm1(z)
                group.rate[cell], group.rest[cell] = rate, rest
                total += group.clicks[cell] * z
                if missed > 0.0:
                    total += missed * math.log(rest)
    return total, inside


@noalloc
def _own_slope(z: float, prior: Floats) -> tuple[float, float]:
    more = prior[1] - prior[0]
    if more <= 0.0:
        return prior[0], 0.0
    rate, rest = math.exp(z), -math.expm1(z)
    return prior[0] - more * rate / rest, more * rate / (rest * rest)


@noalloc
def slopes(group: Group, prior: Floats, tilt: float, tau: float) -> None:
    """Put slope and curvature of the barrier problem into `step` and `weight`; the multipliers shape the curvature.

    The rates of the cells are those that `levels` kept: it has to be taken first.
    """
    items = len(group.item_cells) - 1
    for parameter in range(len(group.z)):
        group.step[parameter] = 0.0
        group.weight[parameter] = 0.0
        if group.free[parameter]:
            slope, curve = _own_slope(group.z[parameter], prior)
            group.step[parameter] = slope + (tilt * group.tilt[parameter] + tau / group.z[parameter])
            group.weight[parameter] = curve - group.dual[parameter] / group.z[parameter]
    for item in range(items):
        if not group.free[item]:
            continue
        slope, curve = group.step[item], group.weight[item]
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            spot = items + group.place[cell]
            group.curve[cell] = 0.0
            if group.free[spot]:
                odds = (group.impressions[cell] - group.clicks[cell]) * group.rate[cell] / group.rest[cell]
                up = group.clicks[cell] - odds
                bend = odds / group.rest[cell]
                slope += up
                curve += bend
                group.step[spot] += up
                group.weight[spot] += bend
                group.curve[cell] = bend
        group.step[item] = slope
        group.weight[item] = max(curve, 1e-300)


@noalloc
def solve(group: Group) -> None:
    """Turn the slopes into a step: take the items out of the matrix and of the slope, factor what is left, go back."""
    items, places = len(group.item_cells) - 1, len(group.schur)
    for spot in range(places):
        for other in range(places):
            group.schur[spot, other] = 0.0
        group.schur[spot, spot] = group.weight[items + spot] if group.free[items + spot] else 1.0
    for item in range(items):
        if not group.free[item]:
            continue
        first, last = group.item_cells[item], group.item_cells[item + 1]
        for cell in range(first, last):
            share = group.curve[cell] / group.weight[item]
            if share == 0.0:
                continue
            spot = group.place[cell]
            group.step[items + spot] -= share * group.step[item]
            for other in range(first, cell + 1):
                near, far = min(group.place[other], spot), max(group.place[other], spot)
                group.schur[far, near] -= share * group.curve[other]
    _solve_places(group, items, places)
    for item in range(items):
        if group.free[item]:
            slope = group.step[item]
            for cell in range(group.item_cells[item], group.item_cells[item + 1]):
                slope -= group.curve[cell] * group.step[items + group.place[cell]]
            group.step[item] = slope / group.weight[item]


@noalloc
def _solve_places(group: Group, items: int, places: int) -> None:
    """Factor the matrix of the places (Cholesky, in place) and turn their slopes into steps."""
    schur = group.schur
    for spot in range(places):
        floor = 1e-13 * max(group.weight[items + spot], 1e-300)
        for other in range(spot + 1):
            total = schur[spot, other]
            for below in range(other):
                total -= schur[spot, below] * schur[other, below]
            schur[spot, other] = math.sqrt(max(total, floor)) if other == spot else total / schur[other, other]
    for spot in range(places):
        if not group.free[items + spot]:
            group.step[items + spot] = 0.0
        for other in range(spot):
            group.step[items + spot] -= schur[spot, other] * group.step[items + other]
        group.step[items + spot] /= schur[spot, spot]
    for spot in range(places - 1, -1, -1):
        for other in range(spot + 1, places):
            group.step[items + spot] -= schur[other, spot] * group.step[items + other]
        group.step[items + spot] /= schur[spot, spot]


@noalloc
def _dual_step(group: Group, parameter: int, tau: float) -> float:
    """How a multiplier moves with the step of its parameter, from where that step was computed."""
    z, dual = group.old[parameter], group.dual[parameter]
    return -tau / z - dual - dual / z * group.step[parameter]


@noalloc
def _reach(group: Group, tau: float) -> tuple[float, float]:
    """How far a step may go before a bound, or a multiplier, is met; keeps where it starts."""
    far, far_dual = 1.0, 1.0
    for parameter in range(len(group.z)):
        group.old[parameter] = group.z[parameter]
        if group.free[parameter]:
            if group.step[parameter] > 0.0:
                far = min(far, 0.99 * -group.z[parameter] / group.step[parameter])
            change = _dual_step(group, parameter, tau)
            if change < 0.0:
                far_dual = min(far_dual, 0.99 * group.dual[parameter] / -change)
    return far, far_dual


@noalloc
def _balance(group: Group, tau: float) -> float:
    """How far slopes and multipliers are from balance: the slopes of the barrier problem are given."""
    total = 0.0
    for parameter in range(len(group.z)):
        if group.free[parameter]:
            total += abs(group.step[parameter] - tau / group.z[parameter] - group.dual[parameter])
    return total


@noalloc
def _missing(group: Group) -> tuple[float, int]:
    """Sum of multiplier times distance to the bound, over the parameters that may move, and their number."""
    total, number = 0.0, 0
    for parameter in range(len(group.z)):
        if group.free[parameter]:
            total -= group.dual[parameter] * group.z[parameter]
            number += 1
    return total, max(number, 1)


@noalloc
def _decrement(group: Group) -> float:
    """Twice what a quadratic step would still gain, from the steps and the matrix: step' H step."""
    items, total = len(group.item_cells) - 1, 0.0
    for parameter in range(len(group.z)):
        if group.free[parameter]:
            total += group.weight[parameter] * group.step[parameter] * group.step[parameter]
    for item in range(items):
        if group.free[item]:
            for cell in range(group.item_cells[item], group.item_cells[item + 1]):
                total += 2.0 * group.curve[cell] * group.step[item] * group.step[items + group.place[cell]]
    return total


@noalloc
def _move(group: Group, far: float) -> float:
    """Go that far along a step from the old values; return the lowest value."""
    lowest = 0.0
    for parameter in range(len(group.z)):
        if group.free[parameter]:
            group.z[parameter] = group.old[parameter] + far * group.step[parameter]
            lowest = min(lowest, group.z[parameter])
    return lowest


@noalloc
def climb(group: Group, prior: Floats, tilt: float, tau: float, tolerance: float) -> tuple[float, int, float]:
    """Climb from where the group is; return the nats that may be missing at the top, the steps, and the height."""
    gap, lowest = math.inf, 0.0
    total, inside = levels(group, prior, tilt)
    for step in range(_STEPS):
        missing, number = _missing(group)
        tau = max(0.1 * tolerance / number, min(tau, 0.1 * missing / number))
        slopes(group, prior, tilt, tau)
        off = _balance(group, tau)
        solve(group)
        gap = missing + _decrement(group)
        before = total + tau * inside
        if gap <= tolerance and off <= 1e3 * tolerance + 1e-9 * abs(before):
            return gap, step, total
        far, far_dual = _reach(group, tau)
        raised = False
        for _ in range(_HALVINGS):
            lowest = _move(group, far)
            total, inside = levels(group, prior, tilt)
            if total + tau * inside >= before - 1e-13 * abs(before):
                raised = True
                break
            far *= 0.5
        for parameter in range(len(group.z)):
            if group.free[parameter]:
                group.dual[parameter] += far_dual * _dual_step(group, parameter, tau)
        if lowest < _LOWEST:
            return math.inf, step, total
        if not raised:
            return gap, step, total
    return math.inf, _STEPS, total
