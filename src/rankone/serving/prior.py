"""A warm start: what was shown and clicked before the experiment began, as much of it as is believed.

The policy starts as if it had seen these outcomes. Statements about winners do not use them: they rest on this
experiment's own decisions, whose probabilities are known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.serving.names import checked_factors

WEIGHT = 0.5  # of past outcomes, unless the caller says otherwise: times change
MOST = 1_000  # outcomes of a pair that the past may count for: enough to start well, few enough to be overruled

Prior = tuple[Any, ...]  # pulls, then clicks: tuples within tuples, as deep as there are factors


class Past(NamedTuple):
    """Where the counts of a warm start come from, to be told in reports."""

    impressions: int  # that were seen, of the experiment's pairs
    weight: float  # how much each counts
    left_out: tuple[str, ...]  # levels of the table that the experiment does not have


def read_prior(table: Any) -> Any:
    """Return the counts in whatever `rankone.analyse` takes but a database: a file, a dataframe, a pair of arrays."""
    from rankone.clicks.counts.factor_counts import as_factor_counts
    from rankone.clicks.counts.table_files import read_table

    return as_factor_counts(read_table(table) if isinstance(table, str | os.PathLike) else table)


def levels_of_past(past: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the levels of a new experiment that are asked for, those of its past counts where it names none."""
    if asked["factors"] is not None:
        return {}
    if len(past.factors) == 2:
        rows, cols, _ = checked_factors(past.levels[0], past.levels[1], None)
        return {"rows": asked["rows"] or rows, "cols": asked["cols"] or cols}
    if asked["rows"] is not None or asked["cols"] is not None:
        got = f"{len(past.factors)}: {', '.join(past.factors)}"
        raise InputError("past counts of two factors", got, "keep rows and columns")
    return {"factors": checked_factors(None, None, dict(zip(past.factors, past.levels, strict=True)))[2]}


def weighted(counts: Any, levels: Mapping[str, Sequence[str]], weight: float) -> tuple[Prior, Past]:
    """Return pulls and clicks of each combination, in whole numbers, and where they come from.

    Args:
        counts: what `read_prior` returned. Its factors may come in any order if they have the experiment's names, rows
            and columns in either; levels that the experiment does not have are left out, and named.
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
        what = "rows and columns" if len(levels) == 2 else "levels"
        raise InputError(f"past counts of the experiment's {what}", got, "call the levels by the same names")
    scale = np.minimum(weight, MOST / np.maximum(pulls, 1.0))
    found = tuple(as_tuples(np.rint(counted * scale).astype(int).tolist()) for counted in (pulls, clicks))
    own = zip(levels.values(), order, strict=True)
    left_out = tuple(str(name) for names, factor in own for name in counts.levels[factor] if name not in names)
    return found, Past(int(pulls.sum()), weight, left_out)


def _order(counts: Any, levels: Mapping[str, Sequence[str]]) -> list[int]:
    """Return which factor of the counts is which of the experiment's."""
    if len(counts.factors) != len(levels):
        what = "two factors" if len(levels) == 2 else f"the factors {', '.join(levels)}"
        do = "keep rows and columns" if len(levels) == 2 else "keep one column for each"
        raise InputError(f"past counts of {what}", f"{len(counts.factors)}: {', '.join(counts.factors)}", do)
    if set(counts.factors) == set(levels):
        return [list(counts.factors).index(factor) for factor in levels]
    rows, found = set(next(iter(levels.values()))), counts.levels
    if len(levels) == 2 and not set(found[0]) & rows and set(found[1]) & rows:
        return [1, 0]
    return list(range(len(levels)))


def as_tuples(value: Any) -> Any:
    """Return lists within lists as tuples within tuples.

    >>> as_tuples([[1, 2], [3]])
    ((1, 2), (3,))
    """
    return tuple(as_tuples(each) for each in value) if isinstance(value, list) else value
