"""Profile-likelihood intervals of linear functions of log attraction and log examination, in one group of a fit.

An end of the interval is where the likelihood, maximised over everything else, has fallen by z^2 / 2 (1.92 at 95%):
the search of a tilt (Venzon, Moolgavkar, "A method for computing profile-likelihood-based confidence intervals", 1988).
Where the likelihood is a straight line one tilt serves a whole stretch of it, and the end lies on that line.
"""

import math
from typing import NamedTuple

import numpy as np

from rankone.clicks.models.fitting.climb import Group, climb, levels, slopes, solve, start
from rankone.compiling.compiled import compiled, noalloc
from rankone.numerics.arrays import Floats, Ints

LOW, HIGH = 1, 2
_NEAR = 0.02  # of the signed root, which is nearly linear: the rest is a rule of three, exact to a thousandth
_TRIES = 60
_TOLERANCE = 1e-5  # nats


class Contrasts(NamedTuple):
    """Linear functions of a group's parameters, and which ends of them are wanted."""

    parameters: Ints  # (contrasts, terms): their numbers in `Group.z`
    signs: Floats  # (terms,)
    is_rate: bool  # no sign is negative: the bounds of the parameters bound the sum
    ends: int  # LOW, HIGH or both


class Ends(NamedTuple):
    """What was found, on the scale of logarithms; infinite where the data set no bound."""

    value: Floats
    error: Floats  # standard error from the curvature
    low: Floats
    high: Floats


def profile(
    group: Group, attraction: Floats, examination: Floats, prior: tuple[float, float], wanted: Contrasts, z: float
) -> Ends:
    """Return the ends of contrasts in one group, `z` standard errors away (1.96 at 95%)."""
    size = len(wanted.parameters)
    result = Ends(np.zeros(size), np.zeros(size), np.full(size, -np.inf), np.full(size, np.inf))
    top = np.empty((3, len(group.z)))
    compiled(_profile, __name__)(group, attraction, examination, np.array(prior), wanted, z, result, top)
    return result


def _profile(
    group: Group,
    attraction: Floats,
    examination: Floats,
    prior: Floats,
    wanted: Contrasts,
    z: float,
    result: Ends,
    top: Floats,
) -> None:
    start(group, attraction, examination, prior)
    _, _, best = climb(group, prior, 0.0, 1.0, 1e-7)
    for parameter in range(len(group.z)):
        top[0, parameter], top[1, parameter] = group.z[parameter], group.dual[parameter]
        top[2, parameter] = 1.0 if group.free[parameter] else 0.0
    for number in range(len(wanted.parameters)):
        for term in range(len(wanted.signs)):
            group.tilt[wanted.parameters[number, term]] += wanted.signs[term]
        _back_to(group, top)
        result.value[number] = _contrast(group)
        variance = _variance(group, prior)
        result.error[number] = math.sqrt(max(variance, 0.0))
        if wanted.ends & LOW:
            result.low[number] = _end(group, prior, wanted, number, -1.0, z, best, variance, top)
        if wanted.ends & HIGH:
            result.high[number] = _end(group, prior, wanted, number, 1.0, z, best, variance, top)
        group.tilt[:] = 0.0


@noalloc
def _back_to(group: Group, top: Floats) -> None:
    for parameter in range(len(group.z)):
        group.z[parameter] = top[0, parameter]
        group.dual[parameter] = top[1, parameter]
        group.free[parameter] = top[2, parameter] > 0.0


@noalloc
def _contrast(group: Group) -> float:
    total = 0.0
    for parameter in range(len(group.z)):
        if group.tilt[parameter] != 0.0:
            total += group.tilt[parameter] * group.z[parameter]
    return total


@noalloc
def _variance(group: Group, prior: Floats) -> float:
    """Variance of the tilted function where the group stands: tilt' H^-1 tilt."""
    levels(group, prior, 0.0)
    slopes(group, prior, 0.0, 1e-9)
    for parameter in range(len(group.z)):
        group.step[parameter] = group.tilt[parameter] if group.free[parameter] else 0.0
    solve(group)
    total = 0.0
    for parameter in range(len(group.z)):
        total += group.tilt[parameter] * group.step[parameter]
    return total


@noalloc
def _freed(group: Group, wanted: Contrasts, number: int, sign: float) -> int:
    """Let parameters without clicks rise where the tilt raises them; -1 where it lowers one: there is no bound."""
    freed, items = 0, len(group.item_cells) - 1
    for term in range(len(wanted.signs)):
        parameter = wanted.parameters[number, term]
        if group.free[parameter]:
            continue
        if sign * group.tilt[parameter] <= 0.0:
            return -1
        group.free[parameter] = True
        group.z[parameter], group.dual[parameter] = -3.0, 1e-9
        if parameter < items:
            total = 1.0
            for cell in range(group.item_cells[parameter], group.item_cells[parameter + 1]):
                spot = items + group.place[cell]
                if group.free[spot]:
                    total += group.impressions[cell] * math.exp(group.z[spot])
            group.z[parameter] = min(-0.01, -math.log(total))
            group.dual[parameter] = -1e-9 / group.z[parameter]
        freed = 1
    return freed


@noalloc
def _end(
    group: Group,
    prior: Floats,
    wanted: Contrasts,
    number: int,
    sign: float,
    z: float,
    best: float,
    variance: float,
    top: Floats,
) -> float:
    """Search the tilt at which the likelihood has fallen by z^2 / 2; return the contrast there."""
    _back_to(group, top)
    freed = _freed(group, wanted, number, sign)
    if freed < 0:
        return sign * math.inf
    near, near_root, near_at = 0.0, 0.0, _contrast(group)
    far, far_root = math.inf, math.inf
    tilt = 1.0 if freed or not variance > 0.0 else min(z / math.sqrt(variance), 1e12)
    first_at = near_at
    for tries in range(_TRIES):
        _, _, height = climb(group, prior, sign * tilt, 1.0, _TOLERANCE)
        at = _contrast(group)
        root = math.sqrt(2.0 * max(best - (height - sign * tilt * at), 0.0))
        if not math.isfinite(root) or abs(at) > 40.0:
            root = math.inf
        if abs(root - z) <= _NEAR:
            return first_at + (at - first_at) * z / root if not freed else at
        if root < z:
            if wanted.is_rate and sign > 0.0 and at > -1e-6:
                return 0.0  # a rate of 1
            near, near_root, near_at = tilt, root, at
        else:
            far, far_root = tilt, root
            if root == math.inf:
                _back_to(group, top)
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
