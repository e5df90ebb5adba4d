"""Steps: probabilities fall by the same amount from one row, and one column, to the next."""

from __future__ import annotations

import numpy as np

from rankone.numerics.arrays import Floats
from rankone.problems.registry import family


@family("my-family")
def my_family(n_rows: int, n_cols: int, drop: float = 0.1) -> tuple[Floats, Floats]:
    """Probabilities fall from 0.9 by `drop` at every step, and never below 0.

    >>> my_family(2, 3).rows.round(1).tolist()
    [0.9, 0.8]
    """
    return np.clip(0.9 - drop * np.arange(n_rows), 0, 1), np.clip(0.9 - drop * np.arange(n_cols), 0, 1)
