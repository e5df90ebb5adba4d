"""The likeliest rank-1 rates of many tables at once, and how far each table is from them.

Each table is a group of `rankone.clicks.models.em`, as each query is in the position-based model: same model, same
maximum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.clicks.counts.count_arrays import Floats, Ints
from rankone.clicks.models.em import HIGHEST, start_fit
from rankone.clicks.models.pbm import run_em

_TOLERANCE = 1e-7  # of a click rate
EXACT_TO = 1e-3  # of the statistic, about, with this tolerance
_ITERATIONS = 10_000


def fit_tables(pulls: Ints, clicks: Ints) -> Floats:
    """Return the rates u_i v_j, 0 <= u, v <= 1, under which the clicks are likeliest; arrays are (tables, K, L).

    A row or column without outcomes could have any rate; it gets the average one.

    >>> rates = fit_tables(np.full((1, 2, 2), 1000), np.array([[[400, 100], [200, 50]]]))
    >>> rates.round(4).tolist()
    [[[0.4, 0.1], [0.2, 0.05]]]
    """
    clicked_rows, clicked_cols = np.asarray(clicks.any(axis=2)), np.asarray(clicks.any(axis=1))
    shown = (pulls > 0) & clicked_rows[:, :, None] & clicked_cols[:, None, :]  # a level without a click has rate 0
    fit = start_fit(
        np.append(0, np.cumsum(clicked_rows.sum(axis=1))), np.append(0, np.cumsum(shown.sum(axis=2)[clicked_rows])),
        np.nonzero(shown)[2], pulls[shown].astype(np.float64), clicks[shown].astype(np.float64),
        pulls.shape[2], 0.5, _ITERATIONS,
    )  # fmt: skip
    run_em(fit, (0.0, 0.0), _TOLERANCE, True, lambda done, total: None)
    rows, cols = np.zeros(clicked_rows.shape), np.where(clicked_cols, fit.examination, 0.0)
    rows[clicked_rows] = fit.attraction
    # Steps end at 1 - 1e-6, which is far from 1 where outcomes are many: levels at that bound go on to 1 if they can.
    missed = (rows == HIGHEST)[:, :, None] & (cols == HIGHEST)[:, None, :] & (clicks < pulls)
    rows[(rows == HIGHEST) & ~missed.any(axis=2)] = 1.0
    cols[(cols == HIGHEST) & ~missed.any(axis=1)] = 1.0
    rates: Floats = _filled(rows, pulls.any(axis=2))[:, :, None] * _filled(cols, pulls.any(axis=1))[:, None, :]
    return rates


def _filled(levels: Floats, seen: Any) -> Floats:
    """Put the average of a table's levels in the place of those that were not seen."""
    average = np.where(seen, levels, 0.0).sum(axis=1) / seen.sum(axis=1)
    return np.where(seen, levels, average[:, None])


def deviances(pulls: Ints, clicks: Ints, rates: Floats) -> Floats:
    """Return twice the log-likelihood that each pair gains by a rate of its own: 2 n d(clicks / n, rate).

    >>> deviances(np.array([10, 10]), np.array([5, 0]), np.array([0.5, 0.5])).round(3).tolist()
    [0.0, 13.863]
    """
    misses = pulls - clicks
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(clicks > 0, clicks * np.log(clicks / (pulls * rates)), 0.0)
        gain += np.where(misses > 0, misses * np.log(misses / (pulls * (1.0 - rates))), 0.0)
    return np.asarray(2.0 * np.maximum(gain, 0.0))


def statistics(pulls: Ints, clicks: Ints) -> tuple[Floats, Floats]:
    """Return the likelihood-ratio statistic of each table, rank 1 against any rates, and its rank-1 rates."""
    rates = fit_tables(pulls, clicks)
    return deviances(pulls, clicks, rates).sum(axis=(1, 2)), rates
