"""Published tables: every figure is there, and verdicts go by combined standard errors."""

import numpy as np
import pytest
from benchmarks import published_tables as published
from benchmarks.published_tables import Cell, compare, judge_tables

import rankone


def test_every_figure_of_the_tables_is_there():
    cells = published.published_cascades()
    count = {table: sum(cell.table == table for cell in cells) for table in "123"}
    assert count == {"1": 18, "2": 18, "3": 90}
    assert Cell("1", "cascade:16x2", "cascade-ucb1", 1290.1, 11.3) in cells
    assert Cell("2", "cascade:32x8", "cascade-kl-ucb:c=3,order=worst-first", 201.9, 5.8) in cells
    (gauss,) = (
        cell
        for cell in cells
        if cell.table == "3" and cell.problem == "cascade:256x8:gap=0.075" and "gauss" in cell.policy
    )
    assert gauss.mean == 3258.24
    assert gauss.se == pytest.approx(238.91 / np.sqrt(20))
    for cell in cells:
        assert rankone.as_problem(cell.problem).name == cell.problem
        assert rankone.as_policy(cell.policy).label == cell.policy


def test_the_27_figures_of_rank1elim():
    cells, problems = published.published_spikes()
    assert len(cells) == 27
    assert len(problems) == 25, "the first setting is in every column"
    assert {cell.problem for cell in cells} == {problem.name for problem in problems}


def test_verdicts():
    study = rankone.simulate("cascade:4x2", ["cascade-ts", "cascade-ucb1"], 200, runs=4, workers=1)
    mean, se = study.summary().filter(policy="cascade-ts").select("regret_mean", "regret_se").row(0)
    cells = [
        Cell("t", "cascade:4x2", "cascade-ts", mean + 2.9 * np.hypot(se, 0.3), 0.3),
        Cell("t", "cascade:4x2", "cascade-ts", mean - 3.1 * np.hypot(se, 0.3), 0.3),
    ]
    compared = compare(cells, [study])
    assert compared["verdict"].to_list() == ["agrees", "differs"]
    assert compared["standard errors"].to_list() == pytest.approx([-2.9, 3.1])
    (claim,) = judge_tables(compared, {"t": "A table"})
    assert not claim.holds
    assert claim.measured.startswith("1 of 2 agree")
