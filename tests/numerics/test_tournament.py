"""The tournament tree against a plain look at all values."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankone.numerics.seeds import generator
from rankone.numerics.tournament import draw_best, set_value, start_tournament


@numba.njit
def change(best, ties, place, value):
    set_value(best, ties, place, value)


@numba.njit
def draws(best, ties, count, rng):
    return np.array([draw_best(best, ties, rng) for _ in range(count)])


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=1, max_size=9), st.data())
def test_root_knows_the_best_and_its_ties(values, data):
    values = np.array(values)
    best, ties = start_tournament(values)
    for _ in range(6):
        assert best[1] == values.max()
        assert ties[1] == (values == values.max()).sum()
        place = data.draw(st.integers(0, len(values) - 1))
        values[place] = data.draw(st.sampled_from([-1.0, 0.25, 0.5, 0.75]))
        change(best, ties, place, values[place])


@pytest.mark.parametrize("values", [[1.0], [2.0, 1.0, 2.0], [0.0] * 7, [3.0, 1.0, 3.0, 3.0, 2.0, 3.0]])
def test_ties_are_drawn_uniformly(values):
    values = np.array(values)
    tied = np.flatnonzero(values == values.max())
    count = 20_000
    found = np.bincount(draws(*start_tournament(values), count, generator(1)), minlength=len(values))
    assert found.sum() == found[tied].sum() == count
    share = 1.0 / len(tied)
    assert np.abs(found[tied] - count * share).max() <= 4.5 * np.sqrt(count * share * (1.0 - share))
