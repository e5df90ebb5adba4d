"""The information matrix of a product of attraction and examination, and its inverse.

With x = log a and y = log g a cell's log-likelihood is c (x + y) + (n - c) log(1 - exp(x + y)), concave in x + y, with
Fisher information w = n p / (1 - p). The information matrix is bordered-diagonal: one row per item, one per place. Its
places are eliminated last, so a query costs items * places^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankone.clicks.counts.count_arrays import summed
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import number_in


class Elimination(NamedTuple):
    """Inverse of an information matrix, in parts: ``diagonal`` of the items, ``border``, inverse for the places."""

    diagonal: Floats  # (items,)
    border: Floats  # (items, places)
    places: Floats  # (places, places); zero rows and columns for places without weight


def eliminate(
    item: Ints, place: Ints, weight: Floats, n_items: int, n_places: int,
) -> Elimination:  # fmt: skip
    """Take the items out of the information matrix of one group and invert what is left."""
    border = summed(item * n_places + place, weight, n_items * n_places).reshape(n_items, n_places)
    diagonal = np.maximum(border.sum(axis=1), 1e-300)
    own = border.sum(axis=0)
    schur = places_information(border)
    free = np.flatnonzero(own > 0.0)
    places = np.zeros((n_places, n_places))
    places[np.ix_(free, free)] = np.linalg.pinv(schur[np.ix_(free, free)], rcond=1e-14, hermitian=True)
    return Elimination(diagonal, border, places)


def places_information(border: Floats) -> Floats:
    """Information about the logarithms of examinations once attractions are free; `border` has a row for each item.

    It tells ratios only: rows and columns add up to 0.

    >>> places_information(np.array([[2.0, 2.0, 0.0]])).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    diagonal = np.maximum(border.sum(axis=1), 1e-300)
    return np.diag(border.sum(axis=0)) - border.T @ (border / diagonal[:, None])


def checked_level(level: float) -> float:
    """Return the level of an interval if it is one."""
    return number_in("level", level, "(0, 1)", example=0.95)
