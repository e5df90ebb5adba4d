"""Paired studies: all policies meet the same visitors, and who beats whom is said with its error."""

import json

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.simulation.feedback import AT_ONCE
from rankone.simulation.work_unit import luck_of, run_name
from tests.cli.test_commands import rankone as command

PROBLEM = "needle:4x4:p=0.3,gap=0.4"


def study(policies, *, paired, horizon=2_000, **how):
    return rankone.simulate(PROBLEM, policies, horizon, runs=12, workers=1, checkpoints=4, paired=paired, **how)


@pytest.mark.parametrize("name", ["uts", "kl-ucb"])
def test_every_policy_meets_the_same_visitors(name):
    """Played by hand with the policy's own random numbers and visitors that are named without the policy."""
    policy, world = rankone.as_policy(name), rankone.as_problem(PROBLEM)
    regret = study(["uts", "kl-ucb"], paired=True).only([name]).table["regret"].to_list()
    for run in range(2):
        visitors, lost = luck_of(0, world, run), 0.0
        agent = policy.agent(4, 4)
        agent.rng = generator(*run_name(0, world, policy, run, AT_ONCE))
        for _ in range(2_000):
            decision = agent.ask()
            rate = world.rows[decision.row] * world.cols[decision.col]
            lost += world.best_mean - rate
            agent.tell(decision, clicked=bool(visitors.random() < rate))
        assert lost == pytest.approx(regret[4 * run + 3])


def test_differences_have_smaller_errors_than_unpaired_ones():
    policies = ["kl-ucb", "kl-ucb:c=1"]
    errors = [study(policies, paired=paired, horizon=5_000).versus()["se"][0] for paired in (True, False)]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("paired", [True, False])
def test_who_beats_whom(paired):
    names = ["uniform", "uts", "ucb1"]
    result = study(names, paired=paired)
    final = result.table.filter(pl.col("step") == 2_000)
    regret = {name: final.filter(pl.col("policy") == name)["regret"].to_numpy() for name in names}
    rows = result.versus().to_dicts()
    assert [(row["policy"], row["other"]) for row in rows] == [("uts", "uniform"), ("uts", "ucb1"), ("ucb1", "uniform")]
    for row in rows:
        one, other = regret[row["policy"]], regret[row["other"]]
        spread = np.var(other - one, ddof=1) if paired else np.var(one, ddof=1) + np.var(other, ddof=1)
        assert row["difference"] == pytest.approx(np.mean(other - one))
        assert row["se"] == pytest.approx(np.sqrt(spread / 12))
        assert row["better"] == np.mean(one < other)
    assert result.to_pandas("versus").shape == (3, 7)


def test_a_paired_study_continues_as_such_and_not_as_another(tmp_path):
    first = study("uts", paired=True, out=tmp_path)
    both = study(["uts", "ucb1"], paired=True, out=tmp_path)
    assert both.only(["uts"]).table.equals(first.table)
    assert rankone.Study.load(tmp_path).paired
    with pytest.raises(InputError, match="paired"):
        study("uts", paired=False, out=tmp_path)


def test_the_command_says_who_beats_whom():
    words = (
        "-p",
        PROBLEM,
        "-P",
        "uts",
        "-P",
        "ucb1",
        "--horizon",
        "2000",
        "--runs",
        "12",
        "--workers",
        "1",
        "--paired",
    )
    assert (
        json.loads(command("simulate", *words, "--json").stdout)["versus"]
        == study(["uts", "ucb1"], paired=True).versus().to_dicts()
    )
    assert "Who beats whom" in command("simulate", *words).stdout


def test_latex():
    lines = study(["uts"], paired=True).to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrr}"
    assert lines[2] == r"problem & policy & runs & regret & $\pm$ se & median & p95 \\"
    assert lines[4].startswith(f"{PROBLEM} & uts & 12 & ")
    assert lines[4].endswith(r" \\")
