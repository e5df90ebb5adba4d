"""The direct climb to the maximum of a product's likelihood, with a bound of what is still missing.

With x = log a and y = log g the log-likelihood of a cell, c (x + y) + (n - c) log(1 - exp(x + y)), is concave, so every
maximum is the maximum. It is climbed by Newton steps of a primal-dual interior-point method (Nocedal, Wright,
"Numerical optimization", section 19.3): the bounds x <= 0 and y <= 0 have multipliers l, and l * (-x) is driven to
nothing. The matrix is bordered-diagonal, one row per item and one per place; the items are eliminated, so a step costs
the cells and places^2 per item. By concavity the likelihood is at most sum(l * (-x)) (and a Newton decrement) below its
maximum: that is the gap, in nats, by which convergence is judged.

A tilt adds a multiple of a linear function of (x, y) to the likelihood: its maximum is a point of a profile likelihood
(`rankone.clicks.models.fitting.profile`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints, Mask

NOTHING = math.log(1e-12)  # logarithm of what stands for a rate of 0
_STEPS, _HALVINGS = 200, 40
_FAR = -0.7  # logarithm of a rate from which 1 - rate loses no digits
_LOWEST = -60.0  # below this a tilt pulls a parameter to nothing: there is no maximum to find


class Group(NamedTuple):
    """One group of a fit: its cells item by item, where it stands, and room to work in."""

    item_cells: Ints  # (items + 1,)
    place: Ints  # per cell
    impressions: Floats
    clicks: Floats
    x: Floats  # (items,): log attraction
    y: Floats  # (places,): log examination
    dual_x: Floats  # multipliers of x <= 0
    dual_y: Floats
    free_x: Mask  # parameters that a click, or a prior, keeps off 0
    free_y: Mask
    shown: Mask  # places with impressions
    tilt_x: Floats  # coefficients of the tilted function
    tilt_y: Floats
    step_x: Floats  # room: slope, then step
    step_y: Floats
    weight_x: Floats  # room: curvature
    weight_y: Floats
    curve: Floats  # per cell: curvature
    rate: Floats  # per cell: click rate where `levels` was last taken
    rest: Floats  # per cell: one minus that
    schur: Floats  # (places, places)
    old_x: Floats
    old_y: Floats


def group_of(item_cells: Ints, place: Ints, impressions: Floats, clicks: Floats, n_places: int) -> Group:
    """Return a group with nothing learned: every array is new but those of the cells."""
    items = len(item_cells) - 1
    return Group(
        item_cells, place, impressions, clicks,
        np.zeros(items), np.zeros(n_places), np.ones(items), np.ones(n_places),
        np.ones(items, np.bool_), np.ones(n_places, np.bool_), np.ones(n_places, np.bool_),
        np.zeros(items), np.zeros(n_places),
        np.empty(items), np.empty(n_places), np.empty(items), np.empty(n_places),
        np.empty(len(place)), np.empty(len(place)), np.empty(len(place)),
        np.empty((n_places, n_places)), np.empty(items), np.empty(n_places),
    )  # fmt: skip


def climb_groups(
    item_starts: Ints, item_cells: Ints, place: Ints, impressions: Floats, clicks: Floats, attraction: Floats,
    examination: Floats, begin: int, end: int, prior: Floats, tolerance: float, gap: Floats, steps: Ints, room: Group,
    trace: Floats,
) -> None:  # fmt: skip
    """Climb from where `attraction` and `examination` are, group by group, until at most `tolerance` nats are missing.

    `room` is a group as large as the largest; `gap` and `steps` receive what is missing and how long it took, `trace`
    is raised by the objective at the start and at the end.
    """
    for number in range(begin, end):
        first, last = item_starts[number], item_starts[number + 1]
        size = last - first
        cells = item_cells[first : last + 1]
        group = Group(
            cells, place, impressions, clicks, room.x[:size], room.y, room.dual_x[:size], room.dual_y,
            room.free_x[:size], room.free_y, room.shown, room.tilt_x[:size], room.tilt_y, room.step_x[:size],
            room.step_y, room.weight_x[:size], room.weight_y, room.curve, room.rate, room.rest, room.schur,
            room.old_x[:size], room.old_y,
        )  # fmt: skip
        start(group, attraction[first:last], examination[number], prior)
        trace[0] += levels(group, prior, 0.0)[0]
        gap[number], steps[number], height = climb(group, prior, 0.0, 1.0, tolerance)
        trace[1] += height
        for item in range(size):
            attraction[first + item] = math.exp(group.x[item]) if group.free_x[item] else 1e-12
        for spot in range(len(group.y)):
            if group.free_y[spot]:
                examination[number, spot] = math.exp(group.y[spot])
            elif group.shown[spot]:  # and never clicked; places that were not shown keep their start
                examination[number, spot] = 1e-12


@noalloc
def start(group: Group, attraction: Floats, examination: Floats, prior: Floats) -> None:
    """Begin at given parameters, a little inside of the bounds."""
    for spot in range(len(group.y)):
        group.step_y[spot] = 0.0
        group.weight_y[spot] = 0.0
    for item in range(len(group.x)):
        total = 0.0
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            total += group.clicks[cell]
            group.step_y[group.place[cell]] += group.clicks[cell]
            group.weight_y[group.place[cell]] += group.impressions[cell]
        group.free_x[item] = total + prior[0] > 0.0
        group.x[item] = min(math.log(max(attraction[item], 1e-9)), -0.01) if group.free_x[item] else NOTHING
        group.dual_x[item] = -1.0 / group.x[item]
    for spot in range(len(group.y)):
        group.shown[spot] = group.weight_y[spot] > 0.0
        group.free_y[spot] = group.shown[spot] and group.step_y[spot] + prior[0] > 0.0
        group.y[spot] = min(math.log(max(examination[spot], 1e-9)), -0.01) if group.free_y[spot] else NOTHING
        group.dual_y[spot] = -1.0 / group.y[spot]


@noalloc
def levels(group: Group, prior: Floats, tilt: float) -> tuple[float, float]:
    """Log-likelihood (with the prior), tilted, and the barrier's sum of logarithms; keeps the cells' rates."""
    total, inside = 0.0, 0.0
    for item in range(len(group.x)):
        if not group.free_x[item]:
            continue
        x = group.x[item]
        total += prior[0] * x + tilt * group.tilt_x[item] * x
        if prior[1] > prior[0]:
            total += (prior[1] - prior[0]) * math.log(-math.expm1(x))
        inside += math.log(-x)
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            spot = group.place[cell]
            if group.free_y[spot]:
                z, missed = x + group.y[spot], group.impressions[cell] - group.clicks[cell]
                rate = math.exp(z)
                rest = 1.0 - rate if z < _FAR else -math.expm1(z)
                group.rate[cell], group.rest[cell] = rate, rest
                total += group.clicks[cell] * z
                if missed > 0.0:
                    total += missed * math.log(rest)
    for spot in range(len(group.y)):
        if group.free_y[spot]:
            y = group.y[spot]
            total += prior[0] * y + tilt * group.tilt_y[spot] * y
            if prior[1] > prior[0]:
                total += (prior[1] - prior[0]) * math.log(-math.expm1(y))
            inside += math.log(-y)
    return total, inside


@noalloc
def _own_slope(z: float, prior: Floats) -> tuple[float, float]:
    """Slope and curvature of a parameter's prior."""
    more = prior[1] - prior[0]
    if more <= 0.0:
        return prior[0], 0.0
    rate, rest = math.exp(z), -math.expm1(z)
    return prior[0] - more * rate / rest, more * rate / (rest * rest)


@noalloc
def _slopes(group: Group, prior: Floats, tilt: float, tau: float) -> None:
    """Put slope and curvature of the barrier problem into `step` and `weight`; the multipliers shape the curvature.

    The rates of the cells are those that `levels` kept: it has to be taken first.
    """
    for spot in range(len(group.y)):
        group.step_y[spot] = 0.0
        group.weight_y[spot] = 0.0
        if group.free_y[spot]:
            slope, curve = _own_slope(group.y[spot], prior)
            group.step_y[spot] = slope + tilt * group.tilt_y[spot] + tau / group.y[spot]
            group.weight_y[spot] = curve - group.dual_y[spot] / group.y[spot]
    for item in range(len(group.x)):
        group.step_x[item] = 0.0
        group.weight_x[item] = 1.0
        if not group.free_x[item]:
            continue
        slope, curve = _own_slope(group.x[item], prior)
        slope += tilt * group.tilt_x[item] + tau / group.x[item]
        curve -= group.dual_x[item] / group.x[item]
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            spot = group.place[cell]
            group.curve[cell] = 0.0
            if group.free_y[spot]:
                odds = (group.impressions[cell] - group.clicks[cell]) * group.rate[cell] / group.rest[cell]
                up = group.clicks[cell] - odds
                bend = odds / group.rest[cell]
                slope += up
                curve += bend
                group.step_y[spot] += up
                group.weight_y[spot] += bend
                group.curve[cell] = bend
        group.step_x[item] = slope
        group.weight_x[item] = max(curve, 1e-300)


@noalloc
def _eliminated(group: Group) -> None:
    """Take the items out of the matrix and of the slope, and factor what is left."""
    places = len(group.y)
    for spot in range(places):
        for other in range(places):
            group.schur[spot, other] = 0.0
        group.schur[spot, spot] = group.weight_y[spot] if group.free_y[spot] else 1.0
    for item in range(len(group.x)):
        if not group.free_x[item]:
            continue
        weight, slope = group.weight_x[item], group.step_x[item]
        first, last = group.item_cells[item], group.item_cells[item + 1]
        for cell in range(first, last):
            share = group.curve[cell] / weight
            if share == 0.0:
                continue
            spot = group.place[cell]
            group.step_y[spot] -= share * slope
            for other in range(first, cell + 1):
                near, far = group.place[other], spot
                if near > far:
                    near, far = far, near
                group.schur[far, near] -= share * group.curve[other]
    _factor(group)


@noalloc
def _factor(group: Group) -> None:
    """Factor the matrix of the places (Cholesky, in place)."""
    for spot in range(len(group.y)):
        floor = 1e-13 * max(group.weight_y[spot], 1e-300)
        for other in range(spot + 1):
            total = group.schur[spot, other]
            for below in range(other):
                total -= group.schur[spot, below] * group.schur[other, below]
            if other == spot:
                group.schur[spot, spot] = math.sqrt(max(total, floor))
            else:
                group.schur[spot, other] = total / group.schur[other, other]


@noalloc
def _solve(group: Group) -> None:
    """Turn the slopes into a step."""
    places = len(group.y)
    for spot in range(places):
        if not group.free_y[spot]:
            group.step_y[spot] = 0.0
        for other in range(spot):
            group.step_y[spot] -= group.schur[spot, other] * group.step_y[other]
        group.step_y[spot] /= group.schur[spot, spot]
    for back in range(places):
        spot = places - 1 - back
        for other in range(spot + 1, places):
            group.step_y[spot] -= group.schur[other, spot] * group.step_y[other]
        group.step_y[spot] /= group.schur[spot, spot]
    for item in range(len(group.x)):
        if not group.free_x[item]:
            continue
        slope = group.step_x[item]
        for cell in range(group.item_cells[item], group.item_cells[item + 1]):
            slope -= group.curve[cell] * group.step_y[group.place[cell]]
        group.step_x[item] = slope / group.weight_x[item]


@noalloc
def _reach(values: Floats, steps: Floats, duals: Floats, free: Mask, tau: float) -> tuple[float, float]:
    """How far a step may go before a bound, or a multiplier, is met."""
    far, far_dual = 1.0, 1.0
    for place in range(len(values)):
        if free[place]:
            if steps[place] > 0.0:
                far = min(far, 0.99 * -values[place] / steps[place])
            change = -tau / values[place] - duals[place] - duals[place] / values[place] * steps[place]
            if change < 0.0:
                far_dual = min(far_dual, 0.99 * duals[place] / -change)
    return far, far_dual


@noalloc
def _moved_duals(values: Floats, steps: Floats, duals: Floats, free: Mask, tau: float, far: float) -> None:
    """Move the multipliers of parameters that still are where the step was computed."""
    for place in range(len(values)):
        if free[place]:
            change = -tau / values[place] - duals[place] - duals[place] / values[place] * steps[place]
            duals[place] += far * change


@noalloc
def _off(values: Floats, slopes: Floats, duals: Floats, free: Mask, tau: float) -> float:
    """How far slopes and multipliers are from balance: the slopes of the barrier problem are given."""
    total = 0.0
    for place in range(len(values)):
        if free[place]:
            total += abs(slopes[place] - tau / values[place] - duals[place])
    return total


@noalloc
def _missing(values: Floats, duals: Floats, free: Mask) -> tuple[float, int]:
    """Sum of multiplier times distance to the bound, over the parameters that may move, and their number."""
    total, number = 0.0, 0
    for place in range(len(values)):
        if free[place]:
            total -= duals[place] * values[place]
            number += 1
    return total, number


@noalloc
def _decrement(group: Group) -> float:
    """Twice what a quadratic step would still gain, from the steps and the matrix: step' H step."""
    total = 0.0
    for spot in range(len(group.y)):
        total += group.weight_y[spot] * group.step_y[spot] * group.step_y[spot]
    for item in range(len(group.x)):
        if group.free_x[item]:
            total += group.weight_x[item] * group.step_x[item] * group.step_x[item]
            for cell in range(group.item_cells[item], group.item_cells[item + 1]):
                total += 2.0 * group.curve[cell] * group.step_x[item] * group.step_y[group.place[cell]]
    return total


@noalloc
def _move(values: Floats, old: Floats, steps: Floats, free: Mask, far: float) -> float:
    """Go that far along a step from the old values; return the lowest value."""
    lowest = 0.0
    for place in range(len(values)):
        if free[place]:
            values[place] = old[place] + far * steps[place]
            lowest = min(lowest, values[place])
    return lowest


@noalloc
def climb(group: Group, prior: Floats, tilt: float, tau: float, tolerance: float) -> tuple[float, int, float]:
    """Climb from the group's x and y; return the nats that may be missing at the top, the steps, and the height."""
    gap, lowest = math.inf, 0.0
    total, inside = levels(group, prior, tilt)
    for step in range(_STEPS):
        at_x, number_x = _missing(group.x, group.dual_x, group.free_x)
        at_y, number_y = _missing(group.y, group.dual_y, group.free_y)
        number = max(number_x + number_y, 1)
        tau = max(0.1 * tolerance / number, min(tau, 0.1 * (at_x + at_y) / number))
        _slopes(group, prior, tilt, tau)
        off = _off(group.x, group.step_x, group.dual_x, group.free_x, tau)
        off += _off(group.y, group.step_y, group.dual_y, group.free_y, tau)
        _eliminated(group)
        _solve(group)
        gap = at_x + at_y + _decrement(group)
        before = total + tau * inside
        if gap <= tolerance and off <= 1e3 * tolerance + 1e-9 * abs(before):
            return gap, step, total
        far_x, dual_x = _reach(group.x, group.step_x, group.dual_x, group.free_x, tau)
        far_y, dual_y = _reach(group.y, group.step_y, group.dual_y, group.free_y, tau)
        far = min(far_x, far_y)
        for item in range(len(group.x)):
            group.old_x[item] = group.x[item]
        for spot in range(len(group.y)):
            group.old_y[spot] = group.y[spot]
        raised = False
        for _ in range(_HALVINGS):
            lowest = _move(group.x, group.old_x, group.step_x, group.free_x, far)
            lowest = min(lowest, _move(group.y, group.old_y, group.step_y, group.free_y, far))
            total, inside = levels(group, prior, tilt)
            if total + tau * inside >= before - 1e-13 * abs(before):
                raised = True
                break
            far *= 0.5
        _moved_duals(group.old_x, group.step_x, group.dual_x, group.free_x, tau, min(dual_x, dual_y))
        _moved_duals(group.old_y, group.step_y, group.dual_y, group.free_y, tau, min(dual_x, dual_y))
        if lowest < _LOWEST:
            return math.inf, step, total
        if not raised:
            return gap, step, total
    return math.inf, _STEPS, total
