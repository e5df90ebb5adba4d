"""Identification studies: decisions until sure, wrong answers, and the theoretical minimum beside them."""

import json
import math

import pytest

import rankone
from rankone.errors import InputError
from rankone.simulation.plans.rehearsal import simulate_experiment
from tests.cli.test_commands import rankone as command

PROBLEM = "needle:3x3:p=0.3,gap=0.4"


@pytest.fixture(scope="module")
def study():
    return rankone.identify(
        [PROBLEM], ["uts", "uniform"], aims=["policy", "decide"], budgets=[100, 2_000], runs=40, longest=6_000
    )


def test_it_counts_what_rehearsals_do(study):
    rules = [(row["policy"], row["aim"]) for row in study.confidence]
    assert rules == [("uts", "policy"), ("uniform", "policy"), ("uts", "decide")]  # deciding asks no policy
    played = simulate_experiment(PROBLEM, aim="decide", runs=40, visitors=6_000, after="stop")
    row, verdicts = study.confidence[2], sorted(each.verdict for each in played)
    assert (row["median"], row["p90"]) == (verdicts[20], verdicts[36])
    assert (row["sure"], row["wrong"]) == (1.0, sum(each.wrong for each in played) / 40)
    bound = rankone.hardness(PROBLEM).characteristic_time * math.log(20)
    assert row["bound"] == pytest.approx(bound)
    assert 0.5 < row["median_to_bound"] < 10.0


def test_deciding_takes_fewer_decisions_than_an_equal_split(study):
    of = {(row["policy"], row["aim"]): row["median"] for row in study.confidence}
    assert of["uts", "decide"] < of["uniform", "policy"]


def test_larger_budgets_are_wrong_less_often(study):
    wrong = {(row["policy"], row["aim"], row["budget"]): row["wrong"] for row in study.budget}
    assert wrong["uniform", "policy", 2_000] <= 0.05 < wrong["uniform", "policy", 100]
    assert all(row["se"] == pytest.approx(math.sqrt(row["wrong"] * (1 - row["wrong"]) / 40)) for row in study.budget)


def test_a_run_without_a_verdict_is_said():
    found = rankone.identify("needle:3x3:p=0.01,gap=0.001", aims="decide", longest=2_000, runs=3).confidence[0]
    assert (found["sure"], found["median"], found["median_to_bound"]) == (0.0, None, None)


@pytest.mark.parametrize(
    ("wrong", "words"), [({"aims": "win"}, "aims"), ({"error": 0}, "error"), ({"budgets": 0}, "budgets")]
)
def test_bad_input(wrong, words):
    with pytest.raises(InputError, match=words):
        rankone.identify(PROBLEM, **wrong)


def test_the_command():
    words = ("identify", "-p", PROBLEM, "--aim", "decide", "--budget", "100", "--runs", "40")
    answer = json.loads(command(*words, "--json").stdout)
    assert answer["confidence"][0]["sure"] == 1.0
    text = command(*words).stdout
    assert "Decisions until 95% sure of the best" in text
    assert "after a budget" in text
