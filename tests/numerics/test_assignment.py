"""Assignments have the largest sum there is."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from rankone.compiling.compiled import compiled
from rankone.numerics.assignment import assign
from rankone.numerics.seeds import generator


def _assign(values, duals, pairs, chosen):
    assign(values, duals, pairs, chosen)


@pytest.mark.parametrize(("n_rows", "n_cols"), [(1, 1), (4, 1), (3, 3), (6, 4), (40, 10)])
def test_the_sum_is_the_largest(n_rows, n_cols):
    rng, size = generator(1, "assign", n_rows), (3, n_rows + 1)
    duals, pairs = np.zeros(size), np.zeros(size, np.int64)
    for kind in range(60):
        values = rng.random((n_rows, n_cols)) if kind % 2 else rng.integers(0, 3, (n_rows, n_cols)) / 2.0
        chosen = np.full(n_cols, -1)
        compiled(_assign, __name__)(values, duals, pairs, chosen)
        assert len(set(chosen.tolist())) == n_cols
        best = values.T[linear_sum_assignment(values.T, maximize=True)].sum()
        assert values[chosen, range(n_cols)].sum() == pytest.approx(best)
