"""Intervention harvesting by loops over cells: ratios of pairs, least squares, and errors by moving each cell a little."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np


def ratio(shown, clicks, k: int, m: int) -> float:
    """Common ratio of the click rates at positions m and k, over the items that were at both."""
    above = below = 0.0
    for n, c in zip(shown, clicks, strict=True):
        if n[k] and n[m]:
            weight = n[k] * n[m] / (n[k] + n[m])
            above, below = above + weight * c[m] / n[m], below + weight * c[k] / n[k]
    return above / below


def log_curve(shown, clicks, variances) -> list[float]:
    """Log examinations relative to the first position, from the log ratios of all pairs with these variances."""
    positions = len(shown[0])
    rows, sides = [], []
    for k, m in combinations(range(positions), 2):
        row = [0.0] * positions
        row[k], row[m] = -1.0, 1.0
        scale = 1.0 / math.sqrt(variances[k, m])
        rows.append([scale * value for value in row[1:]])
        sides.append(scale * math.log(ratio(shown, clicks, k, m)))
    return [0.0, *np.linalg.lstsq(np.array(rows), np.array(sides), rcond=None)[0]]


def cell_variance(shown, clicks, curve, item: int, place: int) -> float:
    """Of the clicks of a cell: clicks * (1 - what the item's other cells say of its click probability)."""
    others = [other for other in range(len(curve)) if other != place]
    looks = sum(shown[item][other] * math.exp(curve[other]) for other in others)
    attraction = sum(clicks[item][other] for other in others) / looks
    return clicks[item][place] * (1.0 - min(attraction * math.exp(curve[place]), 1.0))


def moved(function, clicks, shown, curve) -> float:
    """Variance of a function of the clicks: its slope in every cell, squared, times the cell's variance."""
    total = 0.0
    for item in range(len(shown)):
        for place in range(len(curve)):
            more, less = np.array(clicks, float), np.array(clicks, float)
            more[item, place] += 1e-4
            less[item, place] -= 1e-4
            slope = (function(more) - function(less)) / 2e-4
            total += slope**2 * cell_variance(shown, clicks, curve, item, place)
    return total
