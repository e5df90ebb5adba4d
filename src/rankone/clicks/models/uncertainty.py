"""How sure a fitted product of attraction and examination is: standard errors from the Fisher information.

With x = log a and y = log g a cell's log-likelihood is c (x + y) + (n - c) log(1 - exp(x + y)), concave in x + y, with
Fisher information w = n p / (1 - p). The information matrix is bordered-diagonal: one row an item, one a place. Its
places are eliminated last, so a query costs items * places^2. One place of each connected component is the reference
(the scale is a convention, not an estimate); the scale "balanced" adds the error of the best item by the delta method.
Intervals are exact for items and places without any click, where the logarithm has no standard error.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Floats, Ints, summed
from rankone.errors import InputError


class Elimination(NamedTuple):
    """Inverse of an information matrix, in parts: ``diagonal`` of the items, ``border``, inverse for the places."""

    diagonal: Floats  # (items,)
    border: Floats  # (items, places)
    places: Floats  # (places, places); zero rows and columns for places that are fixed


def eliminate(
    item: Ints,
    place: Ints,
    weight: Floats,
    n_items: int,
    n_places: int,
    fixed: Ints,
    more_items: Floats | float = 0.0,
    more_places: Floats | float = 0.0,
) -> Elimination:
    """Take the items out of the information matrix of one group and invert what is left, but for the fixed places.

    `more_items` and `more_places` are added to the diagonal.
    """
    border = summed(item * n_places + place, weight, n_items * n_places).reshape(n_items, n_places)
    diagonal = np.maximum(border.sum(axis=1) + more_items, 1e-300)
    own = border.sum(axis=0) + more_places
    schur = np.diag(own) - border.T @ (border / diagonal[:, None])
    free = np.setdiff1d(np.flatnonzero(own > 0.0), fixed)
    places = np.zeros((n_places, n_places))
    places[np.ix_(free, free)] = np.linalg.pinv(schur[np.ix_(free, free)], rcond=1e-14, hermitian=True)
    return Elimination(diagonal, border, places)


def log_errors(
    item: Ints, place: Ints, impressions: Floats, a: Floats, g: Floats, labels: Ints, balanced: bool
) -> tuple[Floats, Floats]:
    """Return the standard errors of log attraction and log examination in one group."""
    product = np.minimum(a[item] * g[place], 1.0 - 1e-9)
    components = np.unique(labels[labels >= 0])
    references = np.array([np.argmax(np.where(labels == label, g, -1.0)) for label in components])
    parts = eliminate(item, place, impressions * product / (1.0 - product), len(a), len(g), references)
    slopes = parts.border / parts.diagonal[:, None]
    variance_a = 1.0 / parts.diagonal + np.einsum("ij,jk,ik->i", slopes, parts.places, slopes)
    variance_g = np.diag(parts.places).copy()
    if balanced:
        label_of_item = np.empty(len(a), np.int64)
        label_of_item[item] = labels[place]
        for label in components:
            members = np.flatnonzero(label_of_item == label)
            best = members[np.argmax(a[members])]
            with_best = slopes[members] @ parts.places @ slopes[best]
            own = 1.0 / parts.diagonal[best] + slopes[best] @ parts.places @ slopes[best]
            with_best[members == best] = own
            variance_a[members] += own / 4.0 - with_best
            positions = labels == label
            variance_g[positions] += own / 4.0 - (parts.places @ slopes[best])[positions]
    return np.sqrt(np.maximum(variance_a, 0.0)), np.sqrt(np.maximum(variance_g, 0.0))


def checked_level(level: float) -> float:
    """Return the level of an interval if it is one."""
    if not 0.0 < level < 1.0:
        raise InputError("a level between 0 and 1", level, "try level=0.95")
    return level


def with_interval(
    table: pl.DataFrame, name: str, log_error: Floats, clicks: Floats, exposure: Floats, level: float
) -> pl.DataFrame:
    """Add the columns se, low and high of an interval that holds the truth with probability `level`.

    `exposure` is the number of clicks that a value of 1 would give; it bounds a value that has no clicks at all.
    """
    checked_level(level)
    value = table[name].to_numpy()
    reach = np.exp(NormalDist().inv_cdf(0.5 + level / 2.0) * np.minimum(log_error, 300.0))
    none = clicks == 0
    bound = -np.log((1.0 - level) / 2.0) / np.maximum(exposure, 1e-300)
    low = np.where(none, 0.0, value / reach)
    high = np.minimum(np.where(none, bound, value * reach), 1.0)
    errors = pl.Series(np.where(none, np.nan, value * np.minimum(log_error, 300.0))).fill_nan(None)
    return table.with_columns(se=errors, low=low, high=high)
