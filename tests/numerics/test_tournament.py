"""The tournament tree against a plain look at all values."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankone.numerics.seeds import generator
from rankone.numerics.structures.trees import draw_best, set_value, start_tournament


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


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 1_000, 4_097])
def test_the_tree_is_made_in_few_steps_and_is_what_single_ones_make(size, monkeypatch):
    """Ten million combinations, one by one, took most of a minute."""
    values, steps, maximum = generator(2).integers(0, 3, size) / 2.0, [], np.maximum
    monkeypatch.setattr(np, "maximum", lambda *both: steps.append(1) or maximum(*both))
    best, ties = start_tournament(values)
    assert len(steps) <= 2 + np.log2(size)
    slow_best, slow_ties = np.concatenate([np.zeros(size), values]), np.ones(2 * size, np.int64)
    for node in range(size - 1, 0, -1):
        both = np.array([2 * node, 2 * node + 1])
        slow_best[node] = slow_best[both].max()
        slow_ties[node] = slow_ties[both][slow_best[both] == slow_best[node]].sum()
    assert np.array_equal(best, slow_best)
    assert np.array_equal(ties[1:], slow_ties[1:])


@pytest.mark.parametrize("values", [[1.0], [2.0, 1.0, 2.0], [0.0] * 7, [3.0, 1.0, 3.0, 3.0, 2.0, 3.0]])
def test_ties_are_drawn_uniformly(values):
    values = np.array(values)
    tied = np.flatnonzero(values == values.max())
    count = 20_000
    found = np.bincount(draws(*start_tournament(values), count, generator(1)), minlength=len(values))
    assert found.sum() == found[tied].sum() == count
    share = 1.0 / len(tied)
    assert np.abs(found[tied] - count * share).max() <= 4.5 * np.sqrt(count * share * (1.0 - share))
