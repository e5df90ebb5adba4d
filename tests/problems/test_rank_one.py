"""The problem itself: its quantities, ties, and what it refuses."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankone import RankOne
from rankone.errors import InputError

sides = arrays.arrays(np.float64, st.integers(1, 6), elements=st.floats(0.0, 1.0))


def test_quantities_of_a_small_problem() -> None:
    problem = RankOne(rows=[0.9, 0.5, 0.2], cols=[0.3, 0.8])
    assert (problem.n_rows, problem.n_cols) == (3, 2)
    assert problem.best_pairs == [(0, 1)]
    assert problem.best_mean == pytest.approx(0.72)
    np.testing.assert_allclose(problem.means, [[0.27, 0.72], [0.15, 0.4], [0.06, 0.16]])
    np.testing.assert_allclose(problem.row_gaps, [0.0, 0.4, 0.7])
    np.testing.assert_allclose(problem.col_gaps, [0.5, 0.0])
    assert problem.min_row_gap == pytest.approx(0.4)
    assert problem.min_col_gap == pytest.approx(0.5)
    assert problem.mu == pytest.approx(min(1.6 / 3, 0.55))
    assert problem.p_max == 0.9
    assert problem.gamma == pytest.approx(1.6 / 3)
    assert RankOne([0.1, 0.2], [0.3]).gamma == pytest.approx(0.7)  # 1 - p_max


def test_ties_give_several_best_pairs() -> None:
    problem = RankOne(rows=[0.5, 0.2, 0.5], cols=[0.4, 0.4])
    assert problem.best_pairs == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert problem.min_col_gap == math.inf


def test_rows_that_differ_by_one_rounding_do_not_tie() -> None:
    almost = np.nextafter(0.3, 0.0)
    assert RankOne(rows=[0.3, almost], cols=[1e-300]).best_pairs == [(0, 0)]


def test_every_pair_is_best_where_nothing_is_clicked() -> None:
    problem = RankOne(rows=[0.5, 0.2], cols=[0.0, 0.0])
    assert problem.best_pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert problem.mu == problem.best_mean == 0.0


@given(sides, sides)
def test_quantities_agree_with_their_definitions(rows: np.ndarray, cols: np.ndarray) -> None:
    problem = RankOne(rows, cols)
    assert problem.best_mean == problem.means.max()
    assert all(problem.means[pair] == problem.best_mean for pair in problem.best_pairs)
    assert (problem.row_gaps >= 0).all()
    assert (problem.col_gaps >= 0).all()
    assert 0.0 <= problem.mu <= problem.p_max <= 1.0
    assert problem.gamma >= problem.mu


def test_names() -> None:
    problem = RankOne([0.1, 0.2], [0.3], row_names=["red", "blue"], name="colours")
    assert (problem.row_names, problem.col_names, problem.name) == (["red", "blue"], ["col 1"], "colours")
    assert repr(problem) == "<RankOne colours: 2 x 1, best 0.06>"


def test_unnamed_problems_are_called_after_their_numbers() -> None:
    one, same, other = RankOne([0.1, 0.2], [0.3]), RankOne([0.1, 0.2], [0.3]), RankOne([0.1], [0.2, 0.3])
    assert one.name == same.name != other.name
    assert one.digest == same.digest != other.digest  # the split into rows and columns counts


def test_a_problem_is_rebuilt_from_its_values_and_travels_between_processes() -> None:
    problem = RankOne([0.1, 1 / 3], [0.3], row_names=["a", "b"], col_names=["c"], name="x")
    for again in (RankOne(**problem.to_dict()), pickle.loads(pickle.dumps(problem))):
        assert again.to_dict() == problem.to_dict()
        assert again.digest == problem.digest


def test_probabilities_are_a_copy_and_cannot_change() -> None:
    given_rows = np.array([0.5, 0.6])
    problem = RankOne(given_rows, [0.5])
    given_rows[0] = 0.0
    assert problem.rows[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        problem.rows[0] = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": [0.5, math.nan]}, r"Expected probabilities in \[0, 1\] in the factor row, but got nan at index 1. "),
        ({"rows": [-0.1]}, r"Expected probabilities in \[0, 1\] in the factor row, but got -0.1 at index 0. "),
        ({"cols": [0.2, 1.0000001]}, r"in the factor col, but got 1.0000001 at index 1. "),
        ({"cols": [math.inf]}, r"in the factor col, but got inf"),
        ({"rows": []}, r"Expected the factor row as a list of at least one number, but got shape \(0,\). "),
        ({"rows": [[0.1, 0.2]]}, r"got shape \(1, 2\)\. "),
        ({"rows": 0.5}, r"got shape \(\)\. "),
        ({"rows": ["much"]}, r"Expected the factor row as a list of numbers, but got \['much'\]. "),
        ({"rows": [[0.1], [0.2, 0.3]]}, r"Expected the factor row as a list of numbers"),
        ({"row_names": ["a"]}, r"Expected 2 names of row as a list of texts, but got \['a'\]. "),
        ({"row_names": ["a", "a"]}, r"Expected distinct names of row, but got 'a' more than once. "),
        ({"col_names": "c"}, r"Expected 1 names of col as a list of texts, but got c. "),
        ({"col_names": 7}, r"Expected 1 names of col as a list of texts, but got 7. "),
        ({"row_names": ["a", 2]}, r"Expected 2 names of row as a list of texts, but got \['a', 2\]. "),
        ({"name": 7}, r"Expected the name as a text, but got 7. "),
    ],
)
def test_bad_input_is_refused_in_three_parts(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RankOne(**({"rows": [0.5, 0.4], "cols": [0.5]} | values))


def test_equal_problems_are_equal() -> None:
    assert RankOne([0.5, 0.2], [0.3]) == RankOne(np.array([0.5, 0.2]), (0.3,))
    assert len({RankOne([0.5], [0.3]), RankOne([0.5], [0.3])}) == 1
    for other in (RankOne([0.5, 0.1], [0.3]), RankOne([0.5, 0.2], [0.3], name="mine"), "rank-one"):
        assert RankOne([0.5, 0.2], [0.3]) != other


def test_the_index_of_a_series_gives_the_names() -> None:
    rows, cols = pd.Series([0.5, 0.2], index=["old", "new"]), pd.Series([0.3, 0.1])
    problem = RankOne(rows, cols)
    assert problem.row_names == ["old", "new"]
    assert problem.col_names == ["col 1", "col 2"]
    assert RankOne(rows, cols, row_names=["A", "B"]).row_names == ["A", "B"]
    with pytest.raises(InputError, match="distinct names of row"):
        RankOne(pd.Series([0.5, 0.2], index=["same", "same"]), cols)
