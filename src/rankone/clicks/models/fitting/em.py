"""Expectation-maximisation on counts for click probabilities that are a product: attraction times examination.

Chuklin, Markov, de Rijke, "Click Models for Web Search" (2015), section 4.3.3: after a non-click the item was
attractive with probability a (1 - g) / (1 - a g) and the place examined with g (1 - a) / (1 - a g); after a click
both were. The M-step averages. On counts, a cell with n impressions and c clicks adds c + (n - c) * posterior, so a
step costs the number of cells, whatever the length of the log. The position-based model has one g per position, the
user browsing model one a (position, click before): both are a *place* here.

EM is slow along the ridge where a grows and g shrinks, so steps are extrapolated (SQUAREM, Varadhan and Roland 2008,
scheme S3, on the logarithms); an extrapolation that does not raise the likelihood is dropped, so it never falls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints, Mask

LOWEST, HIGHEST = 1e-6, 1.0 - 1e-6


class Fit(NamedTuple):
    """Data, settings and result of a fit; group k has its own places and the items of `item_starts[k:k + 2]`."""

    item_starts: Ints  # (groups + 1,)
    item_cells: Ints  # (items + 1,)
    place: Ints  # per cell
    impressions: Floats
    clicks: Floats
    attraction: Floats  # (items,)
    examination: Floats  # (groups, places)
    trace: Floats  # (iterations + 1,): objective at the start of each iteration, summed over groups
    iterations: Ints  # (groups,)
    converged: Mask  # (groups,)
    points_a: Floats  # (4, items of the largest group): room for the steps of an iteration
    points_g: Floats  # (4, places)
    work: Floats  # (2, places)


def start_fit(
    item_starts: Ints, item_cells: Ints, place: Ints, impressions: Floats, clicks: Floats, n_places: int, start: float,
    max_iterations: int,
) -> Fit:  # fmt: skip
    """Return a fit before its first iteration, every parameter at `start`."""
    groups = len(item_starts) - 1
    return Fit(
        item_starts=item_starts, item_cells=item_cells, place=place, impressions=impressions, clicks=clicks,
        attraction=np.full(len(item_cells) - 1, start), examination=np.full((groups, n_places), start),
        trace=np.zeros(max_iterations + 1), iterations=np.zeros(groups, np.int64), converged=np.zeros(groups, np.bool_),
        points_a=np.empty((4, int(np.diff(item_starts).max()))), points_g=np.empty((4, n_places)),
        work=np.empty((2, n_places)),
    )  # fmt: skip


@noalloc
def _step(
    fit: Fit, group: int, a: Floats, g: Floats, new_a: Floats, new_g: Floats, work: Floats, prior: Floats
) -> float:
    """Do one EM step from (a, g) to (new_a, new_g); return the objective at (a, g).

    `work` holds two numbers a place; `prior` the pseudo-counts of clicks and impressions.
    """
    first = fit.item_starts[group]
    objective = 0.0
    for place in range(len(g)):
        new_g[place] = prior[0]
        work[0, place] = prior[1]
        work[1, place] = prior[0]
    for item in range(len(a)):
        numerator, denominator, clicks = prior[0], prior[1], prior[0]
        attraction = a[item]
        for cell in range(fit.item_cells[first + item], fit.item_cells[first + item + 1]):
            place, n, c = fit.place[cell], fit.impressions[cell], fit.clicks[cell]
            product = attraction * g[place]
            missed = (n - c) / (1.0 - product)
            numerator += c + missed * (attraction - product)
            new_g[place] += c + missed * (g[place] - product)
            denominator += n
            work[0, place] += n
            work[1, place] += c
            clicks += c
            objective += (n - c) * math.log(1.0 - product)
        new_a[item] = min(max(numerator / denominator, LOWEST), HIGHEST)
        objective += clicks * math.log(attraction) + (prior[1] - prior[0]) * math.log(1.0 - attraction)
    for place in range(len(g)):
        if work[0, place] > prior[1]:
            objective += work[1, place] * math.log(g[place]) + (prior[1] - prior[0]) * math.log(1.0 - g[place])
            new_g[place] = min(max(new_g[place] / work[0, place], LOWEST), HIGHEST)
        else:
            new_g[place] = g[place]  # a place that the group never shows keeps its start
    return objective


@noalloc
def _lengths(zero: Floats, one: Floats, two: Floats) -> tuple[float, float]:
    """Squared length of the first step and of the change between the two steps, on the logarithms."""
    first, change = 0.0, 0.0
    for place in range(len(zero)):
        step, next_step = math.log(one[place] / zero[place]), math.log(two[place] / one[place])
        first += step * step
        change += (next_step - step) * (next_step - step)
    return first, change


@noalloc
def _extrapolate(zero: Floats, one: Floats, two: Floats, size: float, out: Floats) -> None:
    for place in range(len(zero)):
        step, next_step = math.log(one[place] / zero[place]), math.log(two[place] / one[place])
        moved = zero[place] * math.exp(2.0 * size * step + size * size * (next_step - step))
        out[place] = min(max(moved, LOWEST), HIGHEST)


@noalloc
def _copy(source: Floats, target: Floats) -> None:
    for place in range(len(source)):
        target[place] = source[place]


@noalloc
def _largest_change(fit: Fit, group: int, a: Floats, g: Floats, new_a: Floats, new_g: Floats) -> float:
    """Largest change of a click probability between two sets of parameters."""
    largest = 0.0
    first = fit.item_starts[group]
    for item in range(len(a)):
        for cell in range(fit.item_cells[first + item], fit.item_cells[first + item + 1]):
            place = fit.place[cell]
            largest = max(largest, abs(new_a[item] * new_g[place] - a[item] * g[place]))
    return largest


def fit_groups(fit: Fit, begin: int, end: int, prior: Floats, tolerance: float, accelerate: bool) -> None:
    """Fit the groups from `begin` to `end`, each until no click probability moves by more than `tolerance`.

    An iteration is one EM step, or with acceleration three and an extrapolation. The iterations are at most the length
    of the trace; a tolerance below zero always does that many.
    """
    most = len(fit.trace) - 1
    work, points_g = fit.work, fit.points_g
    for group in range(begin, end):
        first, last = fit.item_starts[group], fit.item_starts[group + 1]
        a, g = fit.attraction[first:last], fit.examination[group]
        points_a = fit.points_a[:, : last - first]
        iteration = 0
        done = False
        while iteration < most and not done:
            objective = _step(fit, group, a, g, points_a[0], points_g[0], work, prior)
            fit.trace[iteration] += objective
            new = 0
            if accelerate:
                _step(fit, group, points_a[0], points_g[0], points_a[1], points_g[1], work, prior)
                first_a, change_a = _lengths(a, points_a[0], points_a[1])
                first_g, change_g = _lengths(g, points_g[0], points_g[1])
                size = 1.0
                if change_a + change_g > 0.0:
                    size = max(1.0, math.sqrt((first_a + first_g) / (change_a + change_g)))
                _extrapolate(a, points_a[0], points_a[1], size, points_a[2])
                _extrapolate(g, points_g[0], points_g[1], size, points_g[2])
                far = _step(fit, group, points_a[2], points_g[2], points_a[3], points_g[3], work, prior)
                new = 3 if far >= objective else 1
            done = _largest_change(fit, group, a, g, points_a[new], points_g[new]) <= tolerance
            _copy(points_a[new], a)
            _copy(points_g[new], g)
            iteration += 1
        objective = _step(fit, group, a, g, points_a[0], points_g[0], work, prior)
        for later in range(iteration, most + 1):
            fit.trace[later] += objective
        fit.iterations[group] = iteration
        fit.converged[group] = done
