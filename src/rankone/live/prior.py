"""A warm start: what was shown and clicked before the experiment began, as much of it as is believed.

The policy starts as if it had seen these outcomes. Statements about winners do not use them: they rest on this
experiment's own decisions, whose probabilities are known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.live.settings import Past, as_tuples

MOST = 1_000  # outcomes of a combination that the past may count for: enough to start well, few enough to be overruled


def read_prior(table: Any) -> Any:
    """Return the counts in whatever `rankone.analyse` takes but a database: a file, a dataframe, a pair of arrays."""
    from rankone.clicks.counts.factor_counts import as_factor_counts
    from rankone.clicks.counts.table_files import read_table

    return as_factor_counts(read_table(table) if isinstance(table, str | os.PathLike) else table)


def weighted(counts: Any, levels: Mapping[str, Sequence[str]], weight: float) -> tuple[Any, Past]:
    """Return pulls and clicks of each combination, in whole numbers, and where they come from.

    Args:
        counts: what `read_prior` returned. Its factors may come in any order if they have the experiment's names;
            levels that the experiment does not have are left out, and named.
        levels: the experiment's levels by factor.
        weight: how much a past outcome counts.
    """
    order = _order(counts, levels)
    places = [
        np.array([own.index(name) if name in own else -1 for name in counts.levels[factor]])
        for own, factor in zip(map(list, levels.values()), order, strict=True)
    ]
    cells = np.stack([place[counts.cells[:, factor]] for place, factor in zip(places, order, strict=True)], axis=1)
    pulls, clicks = np.zeros((2, *(len(own) for own in levels.values())))
    kept = (cells >= 0).all(axis=1)
    for found, counted in ((pulls, counts.shown), (clicks, counts.clicked)):
        np.add.at(found, tuple(cells[kept].T), counted[kept])
    if not pulls.any():
        got = "counts of " + " with ".join(", ".join(names[:3]) for names in counts.levels)
        raise InputError("past counts of the experiment's levels", got, "call the levels by the same names")
    scale = np.minimum(weight, MOST / np.maximum(pulls, 1.0))
    found = tuple(as_tuples(np.rint(counted * scale).astype(int).tolist()) for counted in (pulls, clicks))
    own = zip(levels.values(), order, strict=True)
    left_out = tuple(str(name) for names, factor in own for name in counts.levels[factor] if name not in names)
    return found, Past(int(pulls.sum()), weight, left_out)


def _order(counts: Any, levels: Mapping[str, Sequence[str]]) -> list[int]:
    """Return which factor of the counts is which of the experiment's."""
    if len(counts.factors) != len(levels):
        expected, got = f"past counts of the factors {', '.join(levels)}", f"counts of {', '.join(counts.factors)}"
        raise InputError(expected, got, "keep one column for each")
    if set(counts.factors) == set(levels):
        return [list(counts.factors).index(factor) for factor in levels]
    rows, found = set(next(iter(levels.values()))), counts.levels
    if len(levels) == 2 and not set(found[0]) & rows and set(found[1]) & rows:
        return [1, 0]
    return list(range(len(levels)))
