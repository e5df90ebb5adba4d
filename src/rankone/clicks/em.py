"""Expectation-maximisation on counts for click probabilities that are a product: attraction times examination.

Chuklin, Markov, de Rijke, "Click Models for Web Search" (2015), section 4.3.3: after a non-click the item was
attractive with probability a (1 - g) / (1 - a g) and the place examined with g (1 - a) / (1 - a g); after a click both
were. The M-step averages. On counts, a cell with n impressions and c clicks adds c + (n - c) * posterior, so a step costs
the number of cells, whatever the length of the log. The position-based model has one g a position, the user browsing
model one a (position, click before): both are a *place* here.

EM is slow along the ridge where a grows and g shrinks, so steps are extrapolated (SQUAREM, Varadhan and Roland 2008,
scheme S3, on the logarithms); an extrapolation that does not raise the likelihood is dropped, so it never falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.compiled import kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LOWEST, HIGHEST = 1e-6, 1.0 - 1e-6


class Fit(NamedTuple):
    """Data, settings and result of a fit; group k has its own places and the pairs of `pair_starts[k:k + 2]`."""

    pair_starts: Ints  # (groups + 1,)
    pair_cells: Ints  # (pairs + 1,)
    place: Ints  # per cell
    impressions: Floats
    clicks: Floats
    attraction: Floats  # (pairs,)
    examination: Floats  # (groups, places)
    trace: Floats  # (iterations + 1,): objective at the start of each iteration, summed over groups
    iterations: Ints  # (groups,)
    converged: npt.NDArray[np.bool_]  # (groups,)


@kernel
def _step(
    fit: Fit, group: int, a: Floats, g: Floats, new_a: Floats, new_g: Floats, shown: Floats, prior_clicks: float, prior: float
) -> float:
    """Do one EM step from (a, g) to (new_a, new_g); return the objective at (a, g)."""
    first = fit.pair_starts[group]
    objective = 0.0
    new_g[:] = prior_clicks
    shown[:] = prior
    clicks_g = np.zeros(len(g))
    for pair in range(len(a)):
        numerator, denominator, clicks = prior_clicks, prior, 0.0
        for cell in range(fit.pair_cells[first + pair], fit.pair_cells[first + pair + 1]):
            place, n, c = fit.place[cell], fit.impressions[cell], fit.clicks[cell]
            product = a[pair] * g[place]
            missed = (n - c) / (1.0 - product)
            numerator += c + missed * (a[pair] - product)
            new_g[place] += c + missed * (g[place] - product)
            denominator += n
            shown[place] += n
            clicks += c
            clicks_g[place] += c
            objective += (n - c) * np.log1p(-product)
        new_a[pair] = min(max(numerator / denominator, LOWEST), HIGHEST)
        objective += (clicks + prior_clicks) * np.log(a[pair]) + (prior - prior_clicks) * np.log1p(-a[pair])
    for place in range(len(g)):
        if shown[place] > prior:
            objective += (clicks_g[place] + prior_clicks) * np.log(g[place]) + (prior - prior_clicks) * np.log1p(-g[place])
            new_g[place] = min(max(new_g[place] / shown[place], LOWEST), HIGHEST)
        else:
            new_g[place] = g[place]  # a place that the group never shows keeps its start
    return objective


@kernel
def _extrapolate(zero: Floats, one: Floats, two: Floats, size: float, out: Floats) -> None:
    for place in range(len(zero)):
        x0, x1, x2 = np.log(zero[place]), np.log(one[place]), np.log(two[place])
        moved = np.exp(x0 + 2.0 * size * (x1 - x0) + size * size * (x2 - 2.0 * x1 + x0))
        out[place] = min(max(moved, LOWEST), HIGHEST)


@kernel
def _lengths(zero: Floats, one: Floats, two: Floats) -> tuple[float, float]:
    """Squared length of the first step and of the change between the two steps, on the logarithms."""
    first, change = 0.0, 0.0
    for place in range(len(zero)):
        x0, x1, x2 = np.log(zero[place]), np.log(one[place]), np.log(two[place])
        first += (x1 - x0) ** 2
        change += (x2 - 2.0 * x1 + x0) ** 2
    return first, change


@kernel
def _largest_change(fit: Fit, group: int, a: Floats, g: Floats, new_a: Floats, new_g: Floats) -> float:
    """Largest change of a click probability between two sets of parameters."""
    largest = 0.0
    first = fit.pair_starts[group]
    for pair in range(len(a)):
        for cell in range(fit.pair_cells[first + pair], fit.pair_cells[first + pair + 1]):
            place = fit.place[cell]
            largest = max(largest, abs(new_a[pair] * new_g[place] - a[pair] * g[place]))
    return largest


def fit_groups(
    fit: Fit, begin: int, end: int, prior_clicks: float, prior: float, tolerance: float, accelerate: bool
) -> None:
    """Fit the groups from `begin` to `end`, each until no click probability moves by more than `tolerance`.

    An iteration is one EM step, or with acceleration three and an extrapolation. The iterations are at most the length
    of the trace; a tolerance below zero always does that many.
    """
    most = len(fit.trace) - 1
    places = fit.examination.shape[1]
    shown = np.empty(places)
    for group in range(begin, end):
        a = fit.attraction[fit.pair_starts[group] : fit.pair_starts[group + 1]]
        g = fit.examination[group]
        a1, a2, a3, a4 = np.empty(len(a)), np.empty(len(a)), np.empty(len(a)), np.empty(len(a))
        g1, g2, g3, g4 = np.empty(places), np.empty(places), np.empty(places), np.empty(places)
        iteration = 0
        done = False
        while iteration < most and not done:
            fit.trace[iteration] += _step(fit, group, a, g, a1, g1, shown, prior_clicks, prior)
            if accelerate:
                once = _step(fit, group, a1, g1, a2, g2, shown, prior_clicks, prior)
                first_a, change_a = _lengths(a, a1, a2)
                first_g, change_g = _lengths(g, g1, g2)
                size = 1.0
                if change_a + change_g > 0.0:
                    size = max(1.0, np.sqrt((first_a + first_g) / (change_a + change_g)))
                _extrapolate(a, a1, a2, size, a3)
                _extrapolate(g, g1, g2, size, g3)
                if _step(fit, group, a3, g3, a4, g4, shown, prior_clicks, prior) >= once:
                    a1[:], g1[:] = a4, g4
                else:
                    a1[:], g1[:] = a2, g2
            done = _largest_change(fit, group, a, g, a1, g1) <= tolerance
            a[:], g[:] = a1, g1
            iteration += 1
        objective = _step(fit, group, a, g, a1, g1, shown, prior_clicks, prior)
        for later in range(iteration, most + 1):
            fit.trace[later] += objective
        fit.iterations[group] = iteration
        fit.converged[group] = done
