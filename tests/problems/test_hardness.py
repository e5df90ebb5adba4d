"""Hardness gathers what the problem and the bounds say, as plain JSON too."""

from __future__ import annotations

import json

import pytest

from rankone import RankOne, hardness, lower_bound, needle, upper_bound


def test_hardness_agrees_with_its_parts() -> None:
    problem = needle(4, 6, p=0.1)
    found = hardness(problem, horizon=10**5)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["problem"] == "needle:4x6:p=0.1"
    assert (values["n_rows"], values["n_cols"], values["best_pairs"], values["horizon"]) == (4, 6, [[0, 0]], 10**5)
    assert [values[key] for key in ("best_mean", "mu", "p_max", "gamma")] == [
        problem.best_mean, problem.mu, problem.p_max, problem.gamma
    ]  # fmt: skip
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
