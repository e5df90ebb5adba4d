"""The tree of sums against plain sums."""

import numba
import numpy as np
import pytest

from rankone.numerics.seeds import generator
from rankone.numerics.structures.trees import owner, set_share, start_sums, sum_up


@numba.njit
def _owner(tree, point):
    return owner(tree, point)


@numba.njit
def _set(tree, place, value):
    set_share(tree, place, value)


@numba.njit
def _sum(tree):
    sum_up(tree)


@pytest.mark.parametrize("count", [1, 2, 5, 64])
def test_owners_and_totals(count):
    rng, tree = generator(1, "tree", count), start_sums(count)
    values = rng.random(count) * (rng.random(count) < 0.7)
    values[-1] = 0.3
    for place in rng.permutation(count):
        _set(tree, int(place), values[place])
    assert tree[1] == pytest.approx(values.sum())
    ends = np.cumsum(values)
    for point in rng.random(200) * values.sum() * 0.999999:
        place, end = _owner(tree, point)
        assert place == np.searchsorted(ends, point, side="right")
        assert end == pytest.approx(ends[place])
    again = tree.copy()
    again[1 : len(tree) // 2] = 0.0
    _sum(again)
    np.testing.assert_allclose(again, tree)
