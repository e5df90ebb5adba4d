"""Bayesian logistic regression of clicks on features, on the beliefs of `engines.regression`.

One observation: with the mean m and variance s2 of its score, ``e = m + s2 (y - sigma(e))`` is where the posterior of
the score is highest; mean += (y - sigma(e)) P x, and ``sigma'(e) x x'`` joins the precision (Laplace). Step after step
this drifts where clicks are rare, so where features stay what they are (items are told apart by theirs), counts of each
item are kept and the posterior is *fitted again*, by Newton's method, whenever the lists have grown by a tenth.
"""

import math
from typing import Any

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import learn
from rankone.numerics.arrays import Floats
from rankone.policies.engines.lists.layout import looked_at
from rankone.policies.engines.regression import (
    REG_CHANGED,
    REG_LEARNED,
    REG_NEXT_FIT,
    REG_UNTIL,
    RegressionState,
    add_to_root,
    release,
    set_root,
    solve_down,
    solve_up,
)

_STEPS, _FITS = 100, 25  # of Newton's method: for one observation, for all
_GROWTH = 1.1
_FAR = 500.0  # scores beyond it have the same click rate


class LogisticState(RegressionState):
    """Beliefs about the weights of a logistic regression."""


@inlined
def sigma(score: float) -> float:
    """Return the click rate of a score."""
    return 1.0 / (1.0 + math.exp(-min(max(score, -_FAR), _FAR)))


@noalloc
def most_probable(mean: float, variance: float, pulls: float, clicks: int) -> float:
    """Return e with ``e = mean + variance * (clicks - pulls * sigma(e))``: Newton's method, kept within bounds."""
    low, high = mean - variance * (pulls - clicks), mean + variance * clicks
    result = min(max(mean, low), high)
    for _ in range(_STEPS):
        rate = sigma(result)
        off = result - mean - variance * (clicks - pulls * rate)
        if off > 0.0:
            high = result
        else:
            low = result
        step = result - off / (1.0 + variance * pulls * rate * (1.0 - rate))
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - result) <= 1e-12 * (1.0 + abs(result)):
            return step
        result = step
    return result


@noalloc
def record_clicks(state: Any, x: Floats, pulls: float, clicks: int) -> None:
    """Learn observations with the same features: the mean where the posterior is highest, and its curvature."""
    along, mean, root = state.work[1], state.mean[0], state.root[0]
    score = variance = 0.0
    for k in range(len(x)):
        along[k] = x[k]
        score += x[k] * mean[k]
    solve_down(root, along)
    for k in range(len(x)):
        variance += along[k] * along[k]
    solve_up(root, along)
    rate = sigma(most_probable(score, variance, pulls, clicks))
    for k in range(len(x)):
        mean[k] += along[k] * (clicks - pulls * rate)
        along[k] = x[k]
    add_to_root(root, along, pulls * rate * (1.0 - rate))


@noalloc
def note_cell(state: Any, item: int, x: Floats, pulls: float, clicks: int) -> None:
    """Count observations of an item; note where its features are no longer what they were."""
    cell, d = state.cells[item], len(x)
    for k in range(d):
        if cell[d] == 0.0:
            cell[k] = x[k]
        elif cell[k] != x[k]:
            state.counters[REG_CHANGED] = 1
    cell[d] += pulls
    cell[d + 1] += clicks


@noalloc
def largest_change(state: Any, step: Floats) -> float:
    """Return by how much a step of the mean changes a score at most."""
    largest, d = 0.0, len(step)
    for item in range(len(state.cells)):
        if state.cells[item, d] > 0.0:
            moved = 0.0
            for k in range(d):
                moved += state.cells[item, k] * step[k]
            largest = max(largest, abs(moved))
    return largest


@noalloc
def add_cells(state: Any, precision: Floats, mean: Floats, slope: Floats) -> None:
    """Add what the counts say to the curvature (its upper half) and the slope of the log posterior at a mean."""
    d = len(mean)
    for item in range(len(state.cells)):
        cell = state.cells[item]
        if cell[d] == 0.0:
            continue
        score = 0.0
        for k in range(d):
            score += cell[k] * mean[k]
        rate = sigma(score)
        off, bend = cell[d + 1] - cell[d] * rate, cell[d] * rate * (1.0 - rate)
        for k in range(d):
            if cell[k] == 0.0:
                continue
            slope[k] += off * cell[k]
            part = bend * cell[k]
            for i in range(k, d):
                precision[k, i] += part * cell[i]


@noalloc
def fit_again(state: Any) -> None:
    """Find the posterior of all counts: damped steps of Newton's method from the mean, then the curvature there."""
    root, mean, slope, d = state.root[0], state.mean[0], state.work[2], len(state.work[2])
    for _ in range(_FITS):
        for k in range(d):
            slope[k] = state.prior[1, k] * (state.prior[0, k] - mean[k])
            for i in range(d):
                root[k, i] = state.prior[1, k] if i == k else 0.0
        add_cells(state, root, mean, slope)
        set_root(root)
        solve_down(root, slope)
        size = 0.0
        for k in range(d):
            size += slope[k] * slope[k]
        if size < 1e-12:  # a millionth of a standard deviation
            break
        solve_up(root, slope)
        furthest = largest_change(state, slope)
        for k in range(d):
            mean[k] += slope[k] / max(1.0, furthest)  # no score moves by more than 1: the curvature holds that far


@learn.register(LogisticState)
def _learn_clicks(state: LogisticState, shown: Any, tag: int, outcome: Any) -> None:
    counters, fits = state.counters, len(state.cells) > 0
    for position in range(looked_at(outcome, counters[REG_UNTIL])):
        x, looks = state.kept[tag, position], state.examined[position]
        record_clicks(state, x, looks, outcome[position])
        if fits and counters[REG_CHANGED] == 0:
            note_cell(state, shown[position], x, looks, outcome[position])
    release(state, tag)
    fit_when_grown(state)


@noalloc
def fit_when_grown(state: Any) -> None:
    """Fit again when what was learned has grown by a tenth since the last time."""
    counters = state.counters
    counters[REG_LEARNED] += 1
    if counters[REG_LEARNED] >= counters[REG_NEXT_FIT] and counters[REG_CHANGED] == 0:
        fit_again(state)
        counters[REG_NEXT_FIT] = max(counters[REG_LEARNED] + 1, int(_GROWTH * counters[REG_LEARNED]))
