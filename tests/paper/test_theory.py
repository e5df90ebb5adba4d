"""Theory against measurement: stages are played as the policy plays them, and tables hold what they say."""

import math

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.paper import theory
from rankone.paper.stages import play_stages, promised_stage


def test_stages_of_a_certain_problem():
    # One sweep's outcomes are sure: row 0 always clicks with column 0 only, so stage 0 cannot be misjudged.
    problem = rankone.RankOne([1.0, 0.0], [1.0, 0.0])
    log = play_stages(problem, rankone.Rank1ElimKL(horizon=10_000), seed=0, run=0)
    assert log.row_eliminated == {1: 0}
    assert log.col_eliminated == {1: 0}
    assert (log.stages, log.misses) == (1, 0)


def test_narrow_intervals_miss():
    # With a level near 0 the intervals are points, and must miss.
    problem = rankone.RankOne([0.5, 0.5], [0.5, 0.5])
    logs = [play_stages(problem, rankone.Rank1ElimKL(horizon=100, c=0), seed=0, run=run) for run in range(50)]
    wide = [play_stages(problem, rankone.Rank1ElimKL(horizon=100, c=9), seed=0, run=run) for run in range(50)]
    assert sum(log.misses for log in logs) >= sum(log.misses for log in wide)
    assert sum(log.misses for log in wide) == 0


@pytest.mark.parametrize(("gap", "stage"), [(0.5, 3), (0.25, 4), (0.2, 5)])
def test_promised_stage_is_the_first_with_a_small_enough_step(gap, stage):
    problem = rankone.needle(8, 8)
    scale = math.sqrt(problem.mu * problem.gamma)
    assert promised_stage(problem, gap) == stage
    assert 2.0**-stage < scale * gap <= 2.0 ** -(stage - 1)


def test_tables_hold_what_they_say():
    table = theory.lemma_2(runs=5)
    assert (table["stages"] > 0).all()
    assert (table["misses"] <= 2 * table["stages"]).all()
    stages = theory.lemma_3(runs=2)
    assert (stages["latest_stage"] <= stages["promised_stage"]).all()
    growth = theory.extreme_needle(runs=2, workers=1, out=None, sizes=(2, 4))
    assert growth.height == 6
    slopes = theory.growth_slopes(growth)
    regret = growth.filter(pl.col("policy") == "ucb1")["regret_mean"].to_numpy()
    assert slopes["ucb1"] == pytest.approx(np.log2(regret[1] / regret[0]))
