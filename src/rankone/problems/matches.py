"""Each row has a column of its own: nothing like a product, and every match looks best from where it is."""

from __future__ import annotations

import numpy as np

from rankone.errors import InputError
from rankone.problems.means import Means
from rankone.problems.registry import family
from rankone.specs import is_number


@family("matches", Means)
def matches(n_rows: int, n_cols: int, *, base: float = 0.2, low: float = 0.3, high: float = 0.6) -> Means:
    """Pair (i, i) is clicked more often than the base, the first by high, the last by low; all others have the base.

    >>> matches(3, 3).means.round(2).tolist()
    [[0.8, 0.2, 0.2], [0.2, 0.65, 0.2], [0.2, 0.2, 0.5]]
    """
    if not all(map(is_number, (base, low, high))) or not 0.0 <= base <= base + low <= base + high <= 1.0:
        got = f"base={base}, low={low}, high={high}"
        raise InputError("0 <= base and 0 <= low <= high <= 1 - base", got, "try base=0.2, low=0.3, high=0.6")
    means, pairs = np.full((n_rows, n_cols), float(base)), min(n_rows, n_cols)
    means[np.arange(pairs), np.arange(pairs)] += np.linspace(high, low, pairs)
    return Means(means)
