"""Theory against measurement: stages are played as the policy plays them, and tables hold what they say."""

import json
import math

import numpy as np
import polars as pl
import pytest
from benchmarks import paper_theory as theory
from benchmarks.paper_theory import play_stages, promised_stage

import rankone
from rankone.paper.protocol import Protocol
from rankone.policies.engines.elimination import SWEEP_CONFIDENCE


def test_stages_of_a_certain_problem():
    # One sweep's outcomes are sure: row 0 always clicks with column 0 only, so stage 0 cannot be misjudged.
    problem = rankone.RankOne([1.0, 0.0], [1.0, 0.0])
    log = play_stages(problem, rankone.Rank1ElimKL(horizon=10_000), seed=0, run=0)
    assert log.eliminated["row"] == {1: 0}
    assert log.eliminated["column"] == {1: 0}
    assert (log.stages, log.misses) == (1, 0)


class Pointlike(rankone.Rank1ElimKL):
    """Rank1ElimKL whose intervals are points: they must miss, whatever is drawn."""

    def start(self, n_rows, n_cols):
        state = super().start(n_rows, n_cols)
        state.constants[SWEEP_CONFIDENCE] = 1e-12
        return state


def test_intervals_that_are_points_miss_on_both_sides():
    # Irrational means: no empirical mean can hit them.
    problem = rankone.RankOne([math.sqrt(0.5), math.sqrt(0.3)], [math.sqrt(0.2), math.sqrt(0.4)])
    log = play_stages(problem, Pointlike(horizon=1_000), seed=0, run=0)
    assert log.stages >= 1
    assert log.misses == 2 * log.stages


def test_conditional_means_follow_the_partners():
    # Sure clicks: after column 1 is eliminated, row sweeps meet column 0 only, and c_l is a weighted average of both.
    problem = rankone.RankOne([1.0, 1.0], [1.0, 0.0])
    log = play_stages(problem, rankone.Rank1ElimKL(horizon=100_000), seed=0, run=0)
    assert log.eliminated["column"] == {1: 0}
    assert log.stages >= 2
    assert log.misses == 0, "a wrong c_l would put the sure mean outside"


def test_chance_of_so_many():
    assert theory.at_least(0, 10, 0.3) == 1.0
    assert theory.at_least(10, 10, 0.5) == pytest.approx(0.5**10)


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
    growth = theory.extreme_needle(Protocol(workers=1), runs=2, sizes=(2, 4))
    assert growth.height == 6
    exponents = theory.growth_exponents(growth)
    regret = growth.filter(pl.col("policy") == "ucb1")["regret_mean"].to_numpy()
    assert exponents["ucb1"][0] == pytest.approx(np.log2(regret[1] / regret[0]))
    spec = json.dumps(theory.extreme_needle_chart(growth, exponents).altair.to_dict())
    assert f"ucb1: exponent {exponents['ucb1'][0]:.2f}" in spec
    assert "theory: exponent 2" in spec
