"""Late feedback: the compiled loop against its plain twin, delays as promised, synchronisation points counted."""

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.kernels.feedback import Late, Scratch
from rankone.kernels.play import play_through
from rankone.numerics.seeds import generator
from rankone.simulation.feedback import Feedback, as_feedback
from rankone.simulation.work_unit import play_run
from tests.oracles.feedback import plain_late_play
from tests.own_policies import own_policies

PROBLEM = rankone.RankOne([0.9, 0.3, 0.5], [0.2, 0.8])
CHECKPOINTS = np.array([1, 10, 399, 800])
WAYS = ["delay:steps=7", "delay:mean=12.5", "batch:size=64", "delay:steps=3,mean=5+batch:size=10", "delay:steps=600"]


def compiled_late_play(policy, rng, late, problem=PROBLEM, checkpoints=CHECKPOINTS):
    state, scratch = policy.start(*problem.shape), Scratch.new(problem.layout)
    feedback = Late.new(scratch, late.steps, late.mean, late.size)
    return *play_through(state, problem.start(), feedback, rng, checkpoints, scratch), state


@pytest.mark.parametrize("name", own_policies())
def test_same_as_the_plain_loops(name):
    policy = rankone.as_policy(name).with_horizon(800).for_problem(0, 1)
    at_once, _ = play_run(policy.start(3, 2), PROBLEM, CHECKPOINTS, generator(5))
    without_delay, _, _ = compiled_late_play(policy, generator(5), Feedback())
    assert without_delay.tolist() == at_once.tolist(), "no delay is no delay, bit for bit"
    for spec in WAYS:
        late = as_feedback(spec)
        regrets, with_news, _ = compiled_late_play(policy, generator(5), late)
        expected, _, expected_news = plain_late_play(policy, PROBLEM, CHECKPOINTS.tolist(), generator(5), late)
        assert regrets == pytest.approx(expected, abs=1e-9), spec
        assert with_news <= expected_news, "a settled policy is not played to the end"


def test_random_delays_have_the_mean_and_law_asked_for():
    policy, mean, sure = rankone.UTS(), 30.0, rankone.RankOne([1.0, 1.0], [1.0, 1.0])

    def played(horizon, seed):
        late = Feedback(mean=mean)
        _, news, state = compiled_late_play(policy, generator(seed), late, sure, np.array([horizon]))
        return news, state.pulls.sum()

    # What arrives at a step is a sum of independent Bernoulli(p q^age), p = 1 - q; none arrives with this probability:
    survival, horizon = mean / (1 + mean), 40_000
    none = np.prod(1 - (1 - survival) * survival ** np.arange(2_000))
    news, _ = played(horizon, seed=8)
    assert abs(news / horizon - (1 - none)) < 4 * np.sqrt(none * (1 - none) / horizon) + 2 * mean / horizon
    # Little's law: on average as many outcomes are open as the mean delay is long.
    still_open = [599 - played(600, seed)[1] for seed in range(200)]
    assert abs(np.mean(still_open) - mean) < 4 * np.sqrt(mean / 200)


@pytest.mark.parametrize("spec", ["immediate", "delay:steps=7", "delay:mean=100", "batch:size=1000", *WAYS])
def test_labels_are_read_again(spec):
    assert as_feedback(spec).label == spec
    assert as_feedback(as_feedback(spec)) == as_feedback(spec)


def test_no_delay_is_immediate():
    for spec in (None, "delay:steps=0", "delay:mean=0", "batch:size=1", Feedback()):
        assert as_feedback(spec).is_immediate
        assert as_feedback(spec).label == "immediate"


def study(late=None, policies=("uts", "rank1elim-kl:c=0"), **settings):
    wanted = {"horizon": 20_000, "runs": 3, "seed": 3, "workers": 1, "checkpoints": 5} | settings
    return rankone.simulate(rankone.needle(4, 4), policies, feedback=late, **wanted)


def test_a_study_with_feedback(tmp_path):
    plain = study()
    assert plain.table.equals(study("delay:steps=0").table)
    assert plain.table.columns == ["problem", "policy", "run", "step", "regret"]
    late = study("delay:mean=50", out=tmp_path)
    assert late.table.columns == ["problem", "policy", "feedback", "run", "step", "regret"]
    assert late.summary()["feedback"].unique().to_list() == ["delay:mean=50"]
    assert not late.table["regret"].equals(plain.table["regret"])
    assert late.only(["uts"]).table.equals(late.table.filter(policy="uts")), "a part of a study keeps its feedback"
    assert late.table.equals(study("delay:mean=50", out=tmp_path, workers=2).table)
    with pytest.raises(InputError, match='Expected a study with feedback "batch:size=10"'):
        study("batch:size=10", out=tmp_path)
    with pytest.raises(InputError, match="Expected a study with feedback null"):
        study(out=tmp_path)


def test_synchronisation_points():
    def points(late):
        summary = study(
            late, policies=("uts", "ucb1", "rank1elim-kl:c=0", "ucb1-elim", "uniform", "best"), runs=1
        ).summary()
        return dict(zip(summary["policy"], summary["sync_points"], strict=True))

    at_once, batched, late = points(None), points("batch:size=1000"), points("delay:steps=100")
    assert at_once["uts"] == at_once["ucb1"] == 19_999, "every decision but the first comes after a new outcome"
    assert batched["uts"] == batched["ucb1"] == 19, "one per batch, but for the first decisions"
    assert late["uts"] == 20_000 - 101
    for found in (at_once, batched, late):
        assert found["uniform"] == found["best"] == 0
        assert 1 <= found["rank1elim-kl:c=0"] <= 7
        assert 1 <= found["ucb1-elim"] <= 7


def test_a_batch_costs_an_elimination_policy_less_than_an_index_policy():
    def mean_regrets(late):
        summary = study(late, runs=20, horizon=50_000).summary().sort("policy")
        return summary.select("regret_mean", "regret_se").rows()

    (elim, _), (uts, uts_se) = mean_regrets(None)
    (late_elim, late_elim_se), (late_uts, late_uts_se) = mean_regrets("batch:size=5000")
    assert late_uts - 4 * late_uts_se > 3 * (uts + 4 * uts_se) * (late_elim + 4 * late_elim_se) / elim


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("later", "Expected immediate, delay:steps=100"),
        ("delay", "Expected immediate, delay:steps=100"),
        ("delay:days=3", "steps, mean as parameters of 'delay'"),
        ("delay:mean=-1", "delay:mean of at least 0"),
        ("delay:mean=nan", "delay:mean of at least 0"),
        ("delay:steps=1.5", "a whole number for delay:steps"),
        ("batch:size=0", "a batch size as a whole number of at least 1"),
        ("delay:mean=3+delay:mean=4", "'delay' once"),
        (7, "feedback as a text"),
    ],
)
def test_bad_feedback(bad, message):
    with pytest.raises(InputError, match=message):
        study(bad)
