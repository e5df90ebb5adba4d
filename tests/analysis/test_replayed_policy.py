"""Policies replayed against logged decisions earn what they earn in the world that the log is of."""

import numpy as np
import polars as pl
import pytest
from benchmarks.evaluation_logs import FLOORS, TRUTH, thompson_log
from benchmarks.replayed_policies import uniform_log
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.numerics.seeds import generator


def earned(policy, decisions, runs=40):
    """Mean and spread of what a policy earns per decision, by playing it."""
    rng, found = generator(2, "played"), []
    for run in range(runs):
        agent = rankone.as_policy(policy).with_horizon(10_000).for_problem(0, 0).agent(3, 2, seed=run)
        clicks = 0
        for _ in range(decisions):
            decision = agent.ask()
            clicked = bool(rng.random() < TRUTH.means[decision.shown])
            agent.tell(decision, clicked=clicked)
            clicks += clicked
        found.append(clicks / decisions)
    return np.mean(found), np.std(found) / np.sqrt(runs)


def test_a_replayed_policy_earns_what_it_earns_when_played():
    """From a uniform log, and from one whose policy learned itself and has little of bad pairs."""
    for log in (uniform_log(6_000), thompson_log(1, 3_000, FLOORS["5%"]).drop("chance")):
        found = rankone.evaluate(log, rankone.UTS(), factors=["row", "col"], horizon=400)
        assert 30 <= found.decisions <= 400
        value, error = earned("uts", found.decisions)
        assert abs(found.value - value) < 4.0 * np.hypot(found.se, error)
        assert found.low < found.value < found.high
        assert found.answered
        assert "allows for luck in clicks and in what the policy comes to prefer" in found.details
        assert len(found.headline.split()) <= 25


def test_intervals_of_replays_have_the_truth():
    """Of 16 logs at most as many miss it as three standard errors allow; `benchmarks.replayed_policies` has 400."""
    truth, error = earned("uts", 150)
    answers = [
        rankone.evaluate(uniform_log(1_500, seed), rankone.UTS(), factors=["row", "col"], horizon=150)
        for seed in range(16)
    ]
    assert all(each.decisions == 150 for each in answers)
    held = [each.low - 3.0 * error <= truth <= each.high + 3.0 * error for each in answers]
    assert np.mean(held) > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 16)
    spread = np.std([each.value for each in answers], ddof=1) / np.mean([each.se for each in answers])
    assert spread < 1.0 + 3.0 / np.sqrt(2 * 15)


def test_outcomes_are_taken_in_the_order_of_the_log():
    """What a log that learned gave up had bad luck: shuffled, its outcomes would be too low (by 0.03 on four arms)."""
    pairs = [("A", "1"), ("A", "2"), ("B", "1"), ("B", "2")]
    rows = [(*pairs[number % 4], int(number < 200)) for number in range(400)]
    log = pl.DataFrame(rows, schema=["row", "col", "clicked"], orient="row")
    assert rankone.evaluate(log, rankone.UTS(), factors=["row", "col"], horizon=45).value == 1.0


def test_rates_that_moved_are_told_where_a_policy_is_replayed():
    log = uniform_log(3_000)
    assert "rates seem to have moved" not in str(
        rankone.evaluate(log, rankone.UTS(), factors=["row", "col"], horizon=100)
    )
    moved = log.with_columns(clicked=pl.col("clicked") & (pl.int_range(pl.len()) < 1_500))
    found = rankone.evaluate(moved, rankone.UTS(), factors=["row", "col"], horizon=100)
    assert found.moved
    assert "Click rates seem to have moved" in str(found)


def test_a_log_that_cannot_say_says_so(tmp_path):
    short = rankone.evaluate(uniform_log(60), rankone.UTS(), factors=["row", "col"])
    assert not short.answered
    assert "No answer for uts: the log runs out after" in repr(short)
    missing = uniform_log(3_000).filter(~((pl.col("row") == "B") & (pl.col("col") == "2")))
    assert not rankone.evaluate(missing, rankone.UTS(), factors=["row", "col"]).answered
    with pytest.raises(InputError, match="a policy that plays 2 factors, but got toprank"):
        rankone.evaluate(uniform_log(60), rankone.as_policy("toprank"), factors=["row", "col"])
    uniform_log(3_000).write_csv(tmp_path / "log.csv")
    words = ["what-if", str(tmp_path / "log.csv"), "--policy", "uts", "--factor", "row", "--factor", "col"]
    assert "uts would have earned 0." in CliRunner().invoke(build_app(), words, catch_exceptions=False).stdout
    both = CliRunner().invoke(build_app(), [*words, "--list", "a,b"])
    assert both.exit_code != 0
