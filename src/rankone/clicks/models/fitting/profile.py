"""Profile-likelihood intervals of linear functions of log attraction and log examination, in one group of a fit.

An end of the interval is where the likelihood, maximised over everything else, has fallen by z^2 / 2 (1.92 at 95 %).
Unlike intervals from the curvature it cannot leave [0, 1] nor collapse at 1, and it is the same on every scale. The
path on which the function moves while all else follows is that of the tilted maximum: climb likelihood + tilt *
function, and search the tilt. Where the likelihood is a straight line (every impression clicked) one tilt serves a
whole stretch of it, and the end lies on that line. Venzon, Moolgavkar, "A method for computing profile-likelihood-based
confidence intervals" (1988).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.clicks.models.fitting.climb import Group, _eliminated, _slopes, _solve, climb, group_of, levels, start
from rankone.compiling.compiled import compiled, noalloc
from rankone.numerics.arrays import Floats, Ints

LOW, HIGH = 1, 2
_NEAR = 0.02  # of the signed root, which is nearly linear: the rest is a rule of three, exact to a thousandth
_TRIES = 60
_TOLERANCE = 1e-5  # nats


class Contrasts(NamedTuple):
    """Linear functions: up to two items and two places each (-1: none), with signs, and which ends are wanted."""

    items: Ints  # (contrasts, 2)
    places: Ints  # (contrasts, 2)
    item_signs: Floats  # (contrasts, 2)
    place_signs: Floats  # (contrasts, 2)
    ends: Ints  # (contrasts,): LOW, HIGH or both


class Ends(NamedTuple):
    """What was found, on the scale of logarithms; infinite where the data set no bound."""

    value: Floats
    error: Floats  # standard error from the curvature
    low: Floats
    high: Floats


def contrasts(size: int, *terms: tuple[npt.ArrayLike, float, bool], ends: npt.ArrayLike = LOW | HIGH) -> Contrasts:
    """Make contrasts of terms (numbers, sign, whether they are items), at most two of items and two of places.

    >>> made = contrasts(2, ([0, 1], 1.0, True), (3, -1.0, False))   # two items, each less place 3
    >>> made.items.tolist(), made.places.tolist(), made.place_signs.tolist()
    ([[0, -1], [1, -1]], [[3, -1], [3, -1]], [[-1.0, 0.0], [-1.0, 0.0]])
    """
    numbers = {True: np.full((size, 2), -1, np.int64), False: np.full((size, 2), -1, np.int64)}
    signs = {True: np.zeros((size, 2)), False: np.zeros((size, 2))}
    used = {True: 0, False: 0}
    for places, sign, of_item in terms:
        numbers[of_item][:, used[of_item]] = places
        signs[of_item][:, used[of_item]] = sign
        used[of_item] += 1
    wanted = np.broadcast_to(np.asarray(ends, np.int64), size).copy()
    return Contrasts(numbers[True], numbers[False], signs[True], signs[False], wanted)


def profile(
    item_cells: Ints, place: Ints, impressions: Floats, clicks: Floats, attraction: Floats, examination: Floats,
    prior: tuple[float, float], wanted: Contrasts, z: float,
) -> Ends:  # fmt: skip
    """Return the ends of contrasts in one group, `z` standard errors away (1.96 at 95 %)."""
    size = len(wanted.ends)
    result = Ends(np.zeros(size), np.zeros(size), np.full(size, -np.inf), np.full(size, np.inf))
    group = group_of(item_cells, place, impressions, clicks, len(examination))
    compiled(_profile, __name__)(group, attraction, examination, np.array(prior), wanted, z, result, *_room(group))
    return result


def _room(group: Group) -> tuple[Floats, Floats]:
    return np.empty((4, len(group.x))), np.empty((4, len(group.y)))


def _profile(
    group: Group, attraction: Floats, examination: Floats, prior: Floats, wanted: Contrasts, z: float, found: Ends,
    top_x: Floats, top_y: Floats,
) -> None:  # fmt: skip
    start(group, attraction, examination, prior)
    _, _, best = climb(group, prior, 0.0, 1.0, 1e-7)
    _keep(group, top_x, top_y)
    for number in range(len(wanted.ends)):
        _set_tilt(group, wanted, number, True)
        _back_to(group, top_x, top_y)
        at = _contrast(group, wanted, number)
        found.value[number] = at
        variance = _variance(group, prior)
        found.error[number] = math.sqrt(max(variance, 0.0))
        for side in range(2):
            if wanted.ends[number] & (1 << side):
                sign = 2.0 * side - 1.0
                end = _end(group, prior, wanted, number, sign, z, best, variance, top_x, top_y)
                if side:
                    found.high[number] = end
                else:
                    found.low[number] = end
        _set_tilt(group, wanted, number, False)


@noalloc
def _keep(group: Group, top_x: Floats, top_y: Floats) -> None:
    for item in range(len(group.x)):
        top_x[0, item] = group.x[item]
        top_x[1, item] = group.dual_x[item]
        top_x[2, item] = 1.0 if group.free_x[item] else 0.0
    for spot in range(len(group.y)):
        top_y[0, spot] = group.y[spot]
        top_y[1, spot] = group.dual_y[spot]
        top_y[2, spot] = 1.0 if group.free_y[spot] else 0.0


@noalloc
def _back_to(group: Group, top_x: Floats, top_y: Floats) -> None:
    for item in range(len(group.x)):
        group.x[item] = top_x[0, item]
        group.dual_x[item] = top_x[1, item]
        group.free_x[item] = top_x[2, item] > 0.0
    for spot in range(len(group.y)):
        group.y[spot] = top_y[0, spot]
        group.dual_y[spot] = top_y[1, spot]
        group.free_y[spot] = top_y[2, spot] > 0.0


@noalloc
def _set_tilt(group: Group, wanted: Contrasts, number: int, on: bool) -> None:
    for term in range(2):
        item, spot = wanted.items[number, term], wanted.places[number, term]
        if item >= 0:
            group.tilt_x[item] = group.tilt_x[item] + wanted.item_signs[number, term] if on else 0.0
        if spot >= 0:
            group.tilt_y[spot] = group.tilt_y[spot] + wanted.place_signs[number, term] if on else 0.0


@noalloc
def _contrast(group: Group, wanted: Contrasts, number: int) -> float:
    total = 0.0
    for term in range(2):
        item, spot = wanted.items[number, term], wanted.places[number, term]
        if item >= 0:
            total += wanted.item_signs[number, term] * group.x[item]
        if spot >= 0:
            total += wanted.place_signs[number, term] * group.y[spot]
    return total


@noalloc
def _variance(group: Group, prior: Floats) -> float:
    """Variance of the tilted function where the group stands: tilt' H^-1 tilt."""
    levels(group, prior, 0.0)
    _slopes(group, prior, 0.0, 1e-9)
    for item in range(len(group.x)):
        group.step_x[item] = group.tilt_x[item] if group.free_x[item] else 0.0
    for spot in range(len(group.y)):
        group.step_y[spot] = group.tilt_y[spot] if group.free_y[spot] else 0.0
    _eliminated(group)
    _solve(group)
    total = 0.0
    for item in range(len(group.x)):
        total += group.tilt_x[item] * group.step_x[item]
    for spot in range(len(group.y)):
        total += group.tilt_y[spot] * group.step_y[spot]
    return total


@noalloc
def _freed(group: Group, wanted: Contrasts, number: int, sign: float) -> int:
    """Let parameters without clicks rise where the tilt raises them; -1 where it lowers one: there is no bound."""
    freed = 0
    for term in range(2):
        item, spot = wanted.items[number, term], wanted.places[number, term]
        if item >= 0 and not group.free_x[item]:
            if sign * group.tilt_x[item] <= 0.0:
                return -1
            total = 1.0
            for cell in range(group.item_cells[item], group.item_cells[item + 1]):
                if group.free_y[group.place[cell]]:
                    total += group.impressions[cell] * math.exp(group.y[group.place[cell]])
            group.free_x[item] = True
            group.x[item] = min(-0.01, -math.log(total))
            group.dual_x[item] = -1e-9 / group.x[item]
            freed = 1
        if spot >= 0 and not group.free_y[spot]:
            if sign * group.tilt_y[spot] <= 0.0:
                return -1
            group.free_y[spot] = True
            group.y[spot] = -3.0
            group.dual_y[spot] = 1e-9
            freed = 1
    return freed


@noalloc
def _is_rate(wanted: Contrasts, number: int) -> bool:
    """Whether all signs are positive: then the bounds of the parameters bound the contrast."""
    least = 0.0
    for term in range(2):
        least = min(least, wanted.item_signs[number, term], wanted.place_signs[number, term])
    return least >= 0.0


@noalloc
def _end(
    group: Group, prior: Floats, wanted: Contrasts, number: int, sign: float, z: float, best: float, variance: float,
    top_x: Floats, top_y: Floats,
) -> float:  # fmt: skip
    """Search the tilt at which the likelihood has fallen by z^2 / 2; return the contrast there."""
    _back_to(group, top_x, top_y)
    freed = _freed(group, wanted, number, sign)
    if freed < 0:
        return sign * math.inf
    near, near_root, near_at = 0.0, 0.0, _contrast(group, wanted, number)
    far, far_root = math.inf, math.inf
    tilt = 1.0 if freed or not variance > 0.0 else min(z / math.sqrt(variance), 1e12)
    rate, first_at = _is_rate(wanted, number), near_at
    for tries in range(_TRIES):
        _, _, height = climb(group, prior, sign * tilt, 1.0, _TOLERANCE)
        at = _contrast(group, wanted, number)
        root = math.sqrt(2.0 * max(best - (height - sign * tilt * at), 0.0))
        if not math.isfinite(root) or abs(at) > 40.0:
            root = math.inf
        if abs(root - z) <= _NEAR:
            return first_at + (at - first_at) * z / root if not freed else at
        if root < z:
            if rate and sign > 0.0 and at > -1e-6:
                return 0.0  # a rate of 1
            near, near_root, near_at = tilt, root, at
        else:
            far, far_root = tilt, root
            if root == math.inf:
                _back_to(group, top_x, top_y)
                _freed(group, wanted, number, sign)
        if far == math.inf:
            tilt = near * (4.0 if tries > 2 else max(1.2, min(z / max(root, 1e-3), 4.0)))
        elif far_root == math.inf:
            tilt = 0.5 * (near + far)
        else:
            share = (z - near_root) / (far_root - near_root)
            tilt = near + min(max(share, 0.05), 0.95) * (far - near)
        if far < math.inf and far - near < 1e-4 * far:
            break
    if near == 0.0:
        return near_at
    return near_at + sign * 0.5 * (z * z - near_root * near_root) / near  # the slope of the profile is the tilt
