"""The likeliest rank-1 rates of many tables at once, and how far each table is from them.

Each table is a group of `rankone.clicks.em`, as each query is in the position-based model: same model, same maximum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.clicks.cells import Floats, Ints
from rankone.clicks.em import HIGHEST, start_fit
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
    shown = pulls > 0
    seen_rows, seen_cols = shown.any(axis=2), shown.any(axis=1)
    fit = start_fit(
        np.append(0, np.cumsum(seen_rows.sum(axis=1))), np.append(0, np.cumsum(shown.sum(axis=2)[seen_rows])),
        np.nonzero(shown)[2], pulls[shown].astype(np.float64), clicks[shown].astype(np.float64),
        pulls.shape[2], 0.5, _ITERATIONS,
    )  # fmt: skip
    run_em(fit, (0.0, 0.0), _TOLERANCE, True, lambda done, total: None)
    rows, cols = np.zeros(seen_rows.shape), fit.examination
    rows[seen_rows] = fit.attraction
    _to_the_bounds(rows, cols, pulls, clicks)
    rates: Floats = _filled(rows, seen_rows)[:, :, None] * _filled(cols, seen_cols)[:, None, :]
    return rates


def _to_the_bounds(rows: Floats, cols: Floats, pulls: Ints, clicks: Ints) -> None:
    """Move lines to 0 and 1 where they belong there: the steps end at 1e-6 and 1 - 1e-6, far off for many outcomes."""
    missed = (rows == HIGHEST)[:, :, None] & (cols == HIGHEST)[:, None, :] & (clicks < pulls)
    for lines, across in ((rows, 2), (cols, 1)):
        lines[(lines == HIGHEST) & ~missed.any(axis=across)] = 1.0
        lines[~clicks.any(axis=across)] = 0.0


def _filled(lines: Floats, seen: Any) -> Floats:
    """Put the average of a table's lines in the place of those that were not seen."""
    average = np.where(seen, lines, 0.0).sum(axis=1) / seen.sum(axis=1)
    return np.where(seen, lines, average[:, None])


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
