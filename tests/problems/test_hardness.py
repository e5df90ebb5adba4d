"""Hardness gathers what the problem and the bounds say, as plain JSON too."""

from __future__ import annotations

import json

import pytest

from rankone import Product, RankOne, as_problem, hardness, lower_bound, needle, upper_bound
from rankone.problems.theory.time_to_be_sure import characteristic_time, star_time


def test_hardness_agrees_with_its_parts() -> None:
    problem = needle(4, 6, p=0.1)
    found = hardness(problem, horizon=10**5)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["problem"] == "needle:4x6:p=0.1"
    assert (values["factors"], values["best_pairs"], values["horizon"]) == ({"row": 4, "col": 6}, [[0, 0]], 10**5)
    assert [values[key] for key in ("best_mean", "mu", "p_max", "gamma")] == [
        problem.best_mean,
        problem.mu,
        problem.p_max,
        problem.gamma,
    ]
    assert values["min_row_gap"] == values["row_gaps"][1] == pytest.approx(0.5)
    assert values["lower_bound"] == found.lower_bound == lower_bound(problem, 10**5)
    assert values["upper_bound"]["total"] == upper_bound(problem, 10**5).total
    assert len(values["upper_bound"]["col_shares"]) == 6
    assert values["most_regret"] == pytest.approx(10**5 * (0.36 - 0.01))


def test_a_problem_of_ties_has_no_gaps() -> None:
    values = hardness(RankOne([0.5, 0.5], [0.4])).to_dict()
    assert values["min_row_gap"] is None
    assert values["min_col_gap"] is None
    assert values["most_regret"] == values["lower_bound"] == 0.0
    json.dumps(values, allow_nan=False)


def test_of_more_than_two_factors() -> None:
    problem = Product({"a": [0.9, 0.6], "b": [0.8, 0.4, 0.2], "c": [0.5]})
    found = hardness(problem, horizon=10**5)
    assert found.upper_bound is None
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (values["combinations"], values["single_changes"]) == (6, 3)
    assert values["best"] == {"a": "a 1", "b": "b 1", "c": "c 1"}
    assert [row["gap"] for row in values["levels"]] == pytest.approx([0, 0.12, 0, 0.18, 0.27, 0])
    shares = [row["share_of_bound"] for row in values["levels"]]
    assert sum(shares) == pytest.approx(values["lower_bound_constant"])
    assert values["lower_bound"] == lower_bound(problem, 10**5)
    assert values["characteristic_time"] == characteristic_time(problem)
    assert values["characteristic_time"] <= star_time(0.36, [0.24, 0.18, 0.09])
    assert values["most_regret"] == pytest.approx(10**5 * (0.36 - 0.06))
    assert values["even_regret"] == pytest.approx(10**5 * (0.36 - problem.means.mean()))


def test_a_product_of_two_factors_is_rows_and_columns() -> None:
    pair = Product({"a": [0.9, 0.6], "b": [0.8, 0.4]})
    ours, theirs = hardness(pair).to_dict(), hardness(pair.as_rank_one()).to_dict()
    assert (ours["factors"], theirs["factors"]) == ({"a": 2, "b": 2}, {"row": 2, "col": 2})
    names = ("factors", "best", "levels", "lower_bound", "lower_bound_constant")
    assert {key: ours[key] for key in ours if key not in names} == {
        key: theirs[key] for key in theirs if key not in names
    }
    square = Product({"a": [0.9, 0.6], "b": [0.8, 0.4], "c": [1.0]})  # a factor with nothing to find out
    assert hardness(square).characteristic_time == pytest.approx(characteristic_time(pair.as_rank_one()))
    assert hardness(square).lower_bound == pytest.approx(hardness(pair).lower_bound)


def test_where_there_is_no_theory_it_says_so() -> None:
    page = Product(
        {"a": [0.9, 0.6], "b": [0.8, 0.4]},
        interactions={("a", "b"): {("a 2", "b 2"): 2.0}},
        forbidden=[{"a": "a 1", "b": "b 2"}],
    )
    found = hardness(page)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["lower_bound"] is values["characteristic_time"] is None
    assert [row["rate"] for row in values["levels"]] == pytest.approx([0.72, 0.48, 0.72, None])
    assert "No lower bound is known" in found.headline
    assert values["most_regret"] == pytest.approx(2_000_000 * (0.72 - 0.48))
    assert as_problem("needle:100x100x100x100").worst_mean() == pytest.approx(0.25**4)


def test_levels_that_may_not_be_shown_with_the_best_do_not_tie() -> None:
    problem = Product({"a": [0.5, 0.4], "b": [0.5, 0.4], "c": [0.5]}, forbidden=[{"a": "a 2", "b": "b 1"}])
    told = {what: much for what, much, _ in hardness(problem).facts()}
    assert told["lost with another a"] == "all forbidden with the rest"
    assert told["lost with another c"] == "none: all tie"
