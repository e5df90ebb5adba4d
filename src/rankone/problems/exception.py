"""A product but for one pair: the worst row and the worst column together make the best pair."""

from __future__ import annotations

import numpy as np

from rankone.errors import InputError
from rankone.problems.means import Means
from rankone.problems.registry import family
from rankone.specs import is_number


@family("exception", Means)
def exception(n_rows: int, n_cols: int, *, low: float = 0.2, high: float = 0.9, best: float = 0.95) -> Means:
    """Rows and columns fall evenly from high to low, but the last pair is the best, clicked with probability best.

    Nothing on the way to that pair looks good: whoever trusts in the product never gets there.

    >>> exception(3, 3).means.round(2).tolist()
    [[0.81, 0.5, 0.18], [0.5, 0.3, 0.11], [0.18, 0.11, 0.95]]
    """
    if not all(map(is_number, (low, high, best))) or not 0.0 <= low <= high <= 1.0 or not high**2 <= best <= 1.0:
        got = f"low={low}, high={high}, best={best}"
        raise InputError(
            "0 <= low <= high <= 1, and best from high * high to 1", got, "try low=0.2, high=0.9, best=0.95"
        )
    means = np.outer(np.linspace(high, low, n_rows), np.linspace(high, low, n_cols))
    means[-1, -1] = best
    return Means(means)
