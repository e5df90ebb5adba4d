"""A warm start: what was shown and clicked before the experiment began, as much of it as is believed.

The policy starts as if it had seen these outcomes. Statements about winners do not use them: they rest on this
experiment's own decisions, whose probabilities are known.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError

WEIGHT = 0.5  # of past outcomes, unless the caller says otherwise: times change
MOST = 1_000  # outcomes of a pair that the past may count for: enough to start well, few enough to be overruled

Counts = tuple[tuple[int, ...], ...]
Prior = tuple[Counts, Counts]


def read_prior(table: Any) -> Any:
    """Return the counts in whatever `rankone.analyse` takes but a database: a file, a dataframe, a pair of arrays."""
    from rankone.clicks.counts.factor_counts import as_factor_counts
    from rankone.clicks.counts.table_files import read_table

    counts = as_factor_counts(read_table(table) if isinstance(table, str | os.PathLike) else table)
    if len(counts.factors) != 2:
        raise InputError(
            "past counts of two factors", f"{len(counts.factors)}: {', '.join(counts.factors)}", "keep rows and columns"
        )
    return counts


def weighted(counts: Any, rows: Sequence[str], cols: Sequence[str], weight: float) -> Prior:
    """Return pulls and clicks of each pair, in whole numbers.

    Args:
        counts: what `read_prior` returned. Its factors may come in either order; levels that the experiment does not
            have are left out.
        rows: names of the experiment's rows.
        cols: names of its columns.
        weight: how much a past outcome counts.
    """
    cells, levels = counts.cells, counts.levels
    if not set(levels[0]) & set(rows) and set(levels[1]) & set(rows):
        cells, levels = cells[:, ::-1], levels[::-1]
    pulls, clicks = np.zeros((2, len(rows), len(cols)))
    places = [
        [own.index(name) if name in own else -1 for name in names]
        for own, names in zip((list(rows), list(cols)), levels, strict=True)
    ]
    for (row, col), shown, clicked in zip(cells.tolist(), counts.shown.tolist(), counts.clicked.tolist(), strict=True):
        if places[0][row] >= 0 and places[1][col] >= 0:
            pulls[places[0][row], places[1][col]] += shown
            clicks[places[0][row], places[1][col]] += clicked
    if not pulls.any():
        got = f"counts of {', '.join(levels[0][:3])} with {', '.join(levels[1][:3])}"
        raise InputError("past counts of the experiment's rows and columns", got, "call the levels by the same names")
    scale = np.minimum(weight, MOST / np.maximum(pulls, 1.0))
    found = (np.rint(counted * scale).astype(int).tolist() for counted in (pulls, clicks))
    pulled, clicked_ = (tuple(tuple(row) for row in each) for each in found)
    return pulled, clicked_
