"""Theorem 1 and the lower bound: worked numbers, every degenerate case, and how the two are ordered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankone import RankOne, hardness, lower_bound, lower_bound_constant, needle, upper_bound
from rankone.errors import InputError
from tests.oracles.kl import bernoulli_kl

CONSTANT = 6 * math.e + 82
sides = arrays.arrays(np.float64, st.integers(1, 5), elements=st.sampled_from([0.0, 1e-6, 0.1, 0.25, 0.5, 0.9, 1.0]))


def slow_constant(problem: RankOne) -> float:
    """C(u, v) term by term as the formula is written, at high precision."""
    best_row, best_col, total = problem.rows.max(), problem.cols.max(), 0.0
    for u in problem.rows:
        if u < best_row and best_col > 0:
            total += float((best_row - u) * best_col / bernoulli_kl(u * best_col, best_row * best_col))
    for v in problem.cols:
        if v < best_col and best_row > 0:
            total += float(best_row * (best_col - v) / bernoulli_kl(best_row * v, best_row * best_col))
    return total


@pytest.mark.parametrize(("size", "constant"), [(4, 7.576), (16, 37.88), (32, 78.29), (64, 159.10), (128, 320.73)])
def test_lower_bound_constants_of_the_papers_needles(size: int, constant: float) -> None:
    assert lower_bound_constant(needle(size, size)) == pytest.approx(constant, abs=0.006)


def test_lower_bound_of_other_needles() -> None:
    assert lower_bound_constant(needle(9, 9, p=0.7, gap=0.2)) / 16 == pytest.approx(2.03922, abs=1e-5)
    assert lower_bound(needle(128, 128), 2_000_000) == pytest.approx(4653, abs=1)
    # The extreme needle: d(0, m) = -log(1 - m), loss m, K + L - 2 times.
    assert lower_bound_constant(needle(4, 6, p=0.0, gap=0.5)) == pytest.approx(8 * 0.25 / -math.log(0.75))


@given(sides, sides)
def test_lower_bound_constant_is_its_formula(rows: np.ndarray, cols: np.ndarray) -> None:
    problem = RankOne(rows, cols)
    assert lower_bound_constant(problem) == pytest.approx(slow_constant(problem), rel=1e-9)


def test_levels_that_tie_for_the_best_have_no_term() -> None:
    once, twice = RankOne([0.8, 0.5], [0.7, 0.3]), RankOne([0.8, 0.8, 0.5], [0.7, 0.7, 0.3])
    assert lower_bound_constant(once) == pytest.approx(lower_bound_constant(twice))


@pytest.mark.parametrize(
    "problem",
    [
        RankOne([0.5], [0.4]),  # a single pair
        RankOne([0.5, 0.5], [0.4, 0.4, 0.4]),  # all alike
        RankOne([0.0, 0.0], [0.4, 0.1]),  # never a click
        RankOne([0.0], [0.0]),
        RankOne([1.0, 0.3], [1.0, 0.2]),  # always a click: the first miss rules a pair out
    ],
)
def test_nothing_to_learn_at_a_price_of_log_n(problem: RankOne) -> None:
    assert lower_bound_constant(problem) == lower_bound(problem, 1000) == 0.0


def test_upper_bound_by_hand() -> None:
    bound = upper_bound(RankOne([0.8, 0.6, 0.8], [0.5, 0.1]), 1000)
    mu = 0.3  # mean of v; gamma = max(0.3, 1 - 0.8) = 0.3
    scale = 160 / (mu * 0.3) * math.log(1000)
    np.testing.assert_allclose(bound.shares["row"], [scale / 0.4, scale / 0.2, scale / 0.4])
    np.testing.assert_allclose(bound.shares["col"], [scale / 0.2, scale / 0.4])
    assert bound.constant == pytest.approx(5 * CONSTANT)
    assert bound.total == pytest.approx(bound.shares["row"].sum() + bound.shares["col"].sum() + bound.constant)
    assert bound.horizon == 1000


def test_upper_bound_of_the_papers_needle() -> None:
    bound = upper_bound(needle(32, 32), 2_000_000)
    mu = 0.25 + 0.5 / 32
    assert bound.total == pytest.approx(160 / mu**2 * 64 / 0.5 * math.log(2e6) + CONSTANT * 64)


def test_one_side_of_ties_takes_the_other_sides_gap() -> None:
    bound = upper_bound(RankOne([0.5, 0.5], [0.5, 0.1]), 100)
    assert bound.shares["row"] == pytest.approx(bound.shares["col"][1])  # the rows: the columns' smallest gap
    assert bound.shares["col"][0] == 0.0  # the best column: the rows have no gap to take


@pytest.mark.parametrize(
    "problem", [RankOne([0.5, 0.5], [0.4]), RankOne([0.0, 0.0], [0.5, 0.1]), RankOne([0.0], [0.0])]
)
def test_without_anything_to_tell_apart_only_the_constant_is_left(problem: RankOne) -> None:
    bound = upper_bound(problem, 10**6)
    assert not bound.shares["row"].any()
    assert not bound.shares["col"].any()
    assert bound.total == bound.constant == pytest.approx(CONSTANT * (problem.n_rows + problem.n_cols))


@given(sides, sides, st.integers(1, 10**9))
def test_bounds_are_finite_and_in_order(rows: np.ndarray, cols: np.ndarray, horizon: int) -> None:
    problem = RankOne(rows, cols)
    low, high = lower_bound(problem, horizon), upper_bound(problem, horizon)
    assert math.isfinite(high.total)
    assert 0.0 <= low <= high.total


def test_a_problem_may_be_named() -> None:
    assert upper_bound("needle:3x4", 100).total == upper_bound(needle(3, 4), 100).total
    assert lower_bound("needle:3x4", 100) == lower_bound(needle(3, 4), 100) > 0.0
    assert hardness("needle:3x4", 100).to_dict() == hardness(needle(3, 4), 100).to_dict()
    for bound in (lower_bound, upper_bound, hardness):
        with pytest.raises(InputError, match=r"Expected a problem, its name or its file, but got 3. "):
            bound(3, 100)  # type: ignore[operator]


@pytest.mark.parametrize("horizon", [0, -5, 2.5, math.nan, True, "100"])
def test_bad_horizons_are_refused(horizon: Any) -> None:
    for bound in (lower_bound, upper_bound):
        with pytest.raises(InputError, match=r"Expected horizon as a whole number of at least 1, but got .*. "):
            bound(needle(2, 2), horizon)
