"""The examination curve from items that moved: intervention harvesting with all pairs of positions.

Agarwal, Zaitsev, Wang, Li, Najork, Joachims, "Estimating position bias without intrusive interventions" (WSDM 2019),
sections 4 and 5: an item of a query that was shown at two positions compares them with its attraction out of the way.
Of a pair (k, l) the ratio of examinations is the common ratio of click rates over its items (Mantel, Haenszel 1959):

    ratio = sum_i w_i r_ik / sum_i w_i r_il,   w_i = n_ik n_il / (n_ik + n_il),   r = clicks / impressions,

which is right for few items with many impressions and for many items with few. The logarithms of all ratios are joined
by weighted least squares, their covariance summed over cells: the variance of the clicks n p (1 - p) of a cell is
estimated without bias by clicks * (1 - p'), where p' is what the item's other cells say of this one.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, summed
from rankone.numerics.arrays import Floats, Ints

_ROUNDS = 3  # ratios do not depend on the variances; their weights and errors do, a little


class Harvest(NamedTuple):
    """What items that moved say: the curve relative to the first position of each component, and the pairs."""

    labels: Ints  # (K,): lowest position of its component, -1 without impressions
    log_curve: Floats  # (K,)
    error: Floats  # (K,): standard error of the logarithm
    pairs: Ints  # (pairs, 2): positions that at least one item links
    items: Ints  # (pairs,): how many items do
    log_ratio: Floats  # (pairs,): of the second to the first; NaN without clicks at one of them
    pair_error: Floats  # (pairs,)


def harvest(cells: Cells) -> Harvest:
    """Estimate the curve of all queries from the items that were shown at two positions or more."""
    size, places = cells.n_items, cells.n_positions
    shown, clicks = (
        summed(cells.item * places + cells.position, numbers, size * places).reshape(size, places)
        for numbers in (cells.impressions, cells.clicks)
    )
    seen = shown.sum(axis=0) > 0
    moved = (shown > 0).sum(axis=1) > 1
    shown, clicks = shown[moved], clicks[moved]
    rate = clicks / np.maximum(shown, 1.0)
    linked = [(k, m) for k, m in combinations(range(places), 2) if ((shown[:, k] > 0) & (shown[:, m] > 0)).any()]
    pairs = np.array(linked, np.int64).reshape(-1, 2)
    weights = [_weights(shown, k, m) for k, m in linked]
    sums = np.array([[w @ rate[:, k], w @ rate[:, m]] for w, (k, m) in zip(weights, linked, strict=True)])
    sums = sums.reshape(-1, 2)
    clicked = (sums > 0.0).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(clicked, np.log(sums[:, 1]) - np.log(sums[:, 0]), np.nan)
    labels = _components(pairs[clicked], seen)
    error, pair_error, curve = np.zeros(places), np.full(len(pairs), np.nan), np.zeros(places)
    use = np.flatnonzero(clicked)
    if len(use):
        # Per position: the pairs that it is in, and the slope of their log ratios in the clicks of each of its cells.
        told_weights = [weights[pair] for pair in use]
        slopes = [_slopes(place, pairs[use], told_weights, sums[use], shown) for place in range(places)]
        spread = np.maximum(clicks, 1e-12)
        for _ in range(_ROUNDS):
            variances = _summed_squares(np.eye(len(use)), slopes, spread)
            solution = _least_squares(pairs[use], np.maximum(variances, 1e-12), labels)
            curve = solution @ log_ratio[use]
            spread = clicks * (1.0 - _chance_by_the_others(shown, clicks, np.exp(curve)))
        error = np.sqrt(np.maximum(_summed_squares(solution, slopes, spread), 0.0))
        pair_error[use] = np.sqrt(np.maximum(_summed_squares(np.eye(len(use)), slopes, spread), 0.0))
    items = np.array([int((weight > 0).sum()) for weight in weights], np.int64)
    return Harvest(labels, curve, error, pairs, items, log_ratio, pair_error)


def _weights(shown: Floats, k: int, m: int) -> Floats:
    total = shown[:, k] + shown[:, m]
    return shown[:, k] * shown[:, m] / np.where(total > 0.0, total, 1.0)


def _slopes(place: int, pairs: Ints, weights: list[Floats], sums: Floats, shown: Floats) -> tuple[Ints, Floats]:
    """Return which pairs a position is in, and how their log ratios grow with a click of each item there."""
    member = np.flatnonzero((pairs == place).any(axis=1))
    side = (pairs[member, 1] == place).astype(np.int64)
    each = np.array([weights[pair] for pair in member]).reshape(len(member), len(shown))
    growth = each / np.maximum(shown[:, place], 1.0) / sums[member, side][:, None]
    return member, np.where(side == 1, 1.0, -1.0)[:, None] * growth


def _summed_squares(combined: Floats, slopes: list[tuple[Ints, Floats]], spread: Floats) -> Floats:
    """Variances of combinations of log ratios (rows of `combined`), if the clicks of each cell have this variance."""
    total = np.zeros(len(combined))
    for index, (member, slope) in enumerate(slopes):
        total += (combined[:, member] @ slope) ** 2 @ spread[:, index]
    return total


def _chance_by_the_others(shown: Floats, clicks: Floats, curve: Floats) -> Floats:
    """Click probability of each cell, from the other cells of its item."""
    looks = shown * curve
    others = looks.sum(axis=1, keepdims=True) - looks
    attraction = (clicks.sum(axis=1, keepdims=True) - clicks) / np.where(others > 0.0, others, 1.0)
    return np.minimum(attraction * curve, 1.0)


def _components(pairs: Ints, seen: np.ndarray) -> Ints:
    """Label positions by the lowest one that pairs connect them with."""
    labels = np.where(seen, np.arange(len(seen)), -1)
    for k, m in pairs.tolist():
        low, high = sorted((labels[k], labels[m]))
        labels[labels == high] = low
    return labels


def _least_squares(pairs: Ints, variances: Floats, labels: Ints) -> Floats:
    """Return the matrix that takes log ratios to the log curve, which is 0 at the first position of a component."""
    free = np.flatnonzero((labels >= 0) & (labels != np.arange(len(labels))))
    column = {int(index): number for number, index in enumerate(free)}
    design = np.zeros((len(pairs), len(free)))
    for row, (k, m) in enumerate(pairs.tolist()):
        for index, sign in ((k, -1.0), (m, 1.0)):
            if index in column:
                design[row, column[index]] = sign
    weighted = design / variances[:, None]
    solution = np.zeros((len(labels), len(pairs)))
    if len(free):
        solution[free] = np.linalg.solve(design.T @ weighted, weighted.T)
    return solution
