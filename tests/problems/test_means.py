"""Any table of click rates, and rewards that a function draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankone
from rankone import Means
from rankone.errors import InputError

MATCHES = [[0.3, 0.1, 0.1], [0.1, 0.4, 0.1]]


def test_it_is_played_as_it_is_written() -> None:
    study = rankone.simulate(np.array(MATCHES), "uniform", 3000, runs=20, workers=1, checkpoints=1)
    regret = study.table["regret"].to_numpy()
    expected = 3000 * Means(MATCHES).loss_at_random()
    assert abs(regret.mean() - expected) < 4 * regret.std() / np.sqrt(20)
    assert rankone.simulate(Means(MATCHES), "best", 100, runs=1, workers=1).table["regret"][-1] == 0.0


def test_a_product_as_a_table_is_played_as_the_product() -> None:
    product = rankone.RankOne([0.9, 0.5], [0.8, 0.3])
    seeds = {"runs": 200, "workers": 1, "checkpoints": 1, "horizon": 500}
    found = [
        rankone.simulate(problem, "uts", **seeds).summary().row(0, named=True)
        for problem in (product, Means(product.means))
    ]
    difference = found[0]["regret_mean"] - found[1]["regret_mean"]
    assert abs(difference) < 4 * np.hypot(found[0]["regret_se"], found[1]["regret_se"])


def test_a_frame_names_its_levels() -> None:
    frame = pd.DataFrame(MATCHES, index=["old", "new"], columns=["x", "y", "z"])
    problem = rankone.as_problem(frame)
    assert (problem.row_names, problem.col_names) == (["old", "new"], ["x", "y", "z"])
    assert problem == Means(MATCHES, row_names=["old", "new"], col_names=["x", "y", "z"])
    assert "new" in problem.description()["best pair"]
    assert problem.peaks == 2


def test_it_is_stored_with_a_study(tmp_path) -> None:
    problem = Means(MATCHES, name="matches")
    rankone.simulate(problem, "uniform", 50, runs=1, workers=1, out=tmp_path)
    assert rankone.Study.load(tmp_path).problems == [problem]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0.1, 0.2], "Expected means as a table of at least one number"),
        ([["a"]], "Expected means as a table of numbers"),
        ([[0.1, 1.5]], r"Expected probabilities in \[0, 1\] in means, but got 1.5 for 'row 1' with 'col 2'"),
        ([[float("nan")]], "Expected probabilities"),
        (np.zeros((0, 2)), "Expected means as a table of at least one number"),
    ],
)
def test_what_is_no_table_of_rates_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Means(wrong)
