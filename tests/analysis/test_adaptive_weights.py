"""Logs that a policy made while it learned: adaptive weights against a plain twin, and intervals against the truth."""

import numpy as np
import polars as pl
import pytest
from benchmarks.evaluation_logs import FLOORS, RATES, TARGETS, as_target, live_log, site_factors, thompson_log
from typer.testing import CliRunner

import rankone
from rankone.analysis.what_if.off_policy import fitted_before, stabilising_weights
from rankone.cli import build_app
from rankone.numerics.seeds import generator
from tests.oracles.adaptive_weights import adaptive_estimate

_LOGS, _Z = 80, 1.96


def row_of(found, estimator):
    return found.table.row(by_predicate=pl.col("estimator") == estimator, named=True)


@pytest.mark.parametrize("target", [np.eye(6)[3], np.array([0.5, 0.0, 0.2, 0.3, 0.0, 0.0])], ids=["pair", "mixed"])
def test_weights_are_those_of_the_plain_twin(target):
    rng = generator(1, "twin")
    action, chance = rng.integers(6, size=300), rng.random(300) * 0.5 + 0.01
    reward = (rng.random(300) < 0.4).astype(float)

    def share(shown, clicked):
        return (clicked + 0.1) / (shown + 0.5)

    weight = target[action] / chance
    h = stabilising_weights(action, weight, target)
    model, mean = fitted_before(action, reward, target, share)
    scores = mean + weight * (reward - model)
    value = (h * scores).sum() / h.sum()
    se = np.sqrt((h**2 * (scores - value) ** 2).sum()) / h.sum()

    def rates_after(n):
        return share(np.bincount(action[:n], minlength=6), np.bincount(action[:n], reward[:n], minlength=6))

    assert (value, se) == pytest.approx(adaptive_estimate(action, reward, chance, target, rates_after), rel=1e-9)


def test_probabilities_that_do_not_change_leave_scores_alike():
    """Then `adaptive` is as wide as `dr`, up to what a model from earlier decisions costs."""
    rng = generator(2, "steady")
    pairs = rng.integers(6, size=4_000)
    log = pl.DataFrame({"pair": pairs, "clicked": rng.random(4_000) < RATES[pairs], "chance": 1 / 6})
    found = rankone.evaluate(log, {"pair": "0"})
    assert not found.changing
    assert found.first == "snips"
    assert row_of(found, "adaptive")["se"] == pytest.approx(row_of(found, "dr")["se"], rel=0.1)


@pytest.fixture(scope="module")
def logs():
    """Logs of Thompson sampling, 1% of it spread evenly."""
    return [thompson_log(seed, 1_500, FLOORS["1%"]) for seed in range(_LOGS)]


@pytest.mark.parametrize("name", ["second", "uniform"])
def test_intervals_hold_where_a_policy_learned(logs, name):
    """95% intervals of `adaptive`, within 3 standard errors; they are narrower than those of ips."""
    truth, held, ratio = float(TARGETS[name] @ RATES), [], []
    for log in logs:
        found = rankone.evaluate(log, as_target(TARGETS[name]))
        assert found.changing
        adaptive, ips = (row_of(found, each) if found.answered else {"value": None} for each in ("adaptive", "ips"))
        if adaptive["value"] is not None:
            held.append(adaptive["low"] <= truth <= adaptive["high"])
        if ips["value"] is not None:
            ratio.append((adaptive["high"] - adaptive["low"]) / (ips["high"] - ips["low"]))
    assert len(held) > _LOGS / 2
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(held))
    assert np.median(ratio) < 0.9


def test_where_click_rates_moved_the_first_to_look_at_is_another(logs):
    """The site doubles halfway: `adaptive` misses the truth, the estimator that comes first has it (95%, 3 errors)."""
    site, target = site_factors(1_500)["doubles halfway"], as_target(TARGETS["best"])
    truth, held = 1.5 * RATES[0], {"adaptive": [], "first": []}
    for seed in range(_LOGS // 2):
        found = rankone.evaluate(thompson_log(seed, 1_500, FLOORS["1%"], site=site), target)
        for name, each in held.items():
            row = row_of(found, found.first if name == "first" else name)
            each.append(row["low"] <= truth <= row["high"])
    assert found.moved
    assert "Click rates seem to have moved" in repr(found)
    assert "read `snips`" in repr(found)
    assert found.first == "snips"
    assert "`adaptive` and its interval are off" in repr(found)
    assert np.mean(held["adaptive"]) < 0.8
    assert np.mean(held["first"]) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(held["first"]))
    steady = [rankone.evaluate(log, target).first for log in logs]
    assert steady.count("snips") <= 0.1 * _LOGS + 3 * np.sqrt(0.1 * 0.9 * _LOGS), "rates that stay seldom seem to move"


def test_what_moved_and_what_is_hardly_shown_has_no_value():
    """The site doubles soon, and the pair was shown before: of the whole time nobody can tell."""
    site = site_factors(2_000)["doubles early"]
    answers = [
        rankone.evaluate(thompson_log(seed, 2_000, FLOORS["1%"], site=site), as_target(TARGETS["second"]))
        for seed in range(6)
    ]
    (found, *_) = [each for each in answers if each.moved and each.answered]
    assert found.value is None
    assert "`snips` has no value: too little of the log covers all of its time." in repr(found)


def test_plain_intervals_fail_where_a_policy_stopped_showing_the_target(logs):
    """Of the worst pair, value +- 1.96 standard errors: that is why there is a refusal, and `adaptive`."""
    held = []
    for log in logs:
        asked = (log["row"] == "C") & (log["col"] == "2")
        scores = (asked & log["clicked"]).to_numpy() / log["chance"].to_numpy()
        held.append(abs(scores.mean() - RATES[5]) <= _Z * scores.std() / np.sqrt(len(scores)))
    assert np.mean(held) < 0.8


def test_a_journal_says_that_its_policy_learned(tmp_path):
    """A live experiment: `adaptive` comes first, its interval has the truth, and rows may be in any order."""
    log = live_log(3, 2_000)
    found = rankone.evaluate(log, {"row": "A", "col": "1"})
    assert found.changing
    assert found.first == "adaptive"
    best = row_of(found, "adaptive")
    assert best["low"] <= RATES[0] <= best["high"]
    assert found.value == best["value"]
    assert "; click rates that stayed the same." in found.assumes
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=1)
    shuffled.write_csv(tmp_path / "log.csv")
    again = rankone.evaluate(tmp_path / "log.csv", {"row": "A", "col": "1"})
    assert row_of(again, "adaptive")["value"] == pytest.approx(best["value"], rel=1e-9)
    assert again.to_dict()["first"] == "adaptive"
    assert rankone.evaluate(log, "row=A,col=1").table.equals(found.table), "the factors' own names"


def test_an_experiment_is_a_log(tmp_path):
    with rankone.Experiment("page", ["A", "B"], ["1", "2"], db=tmp_path / "x.db", seed=1, durability="off") as page:
        for _ in range(10):
            page.tell_many([(each, each["row"] == "A") for each in page.ask(30)])
        found = rankone.evaluate(page, "row=A,col=1")
    assert found.decisions == 300
    assert row_of(found, "snips")["value"] == pytest.approx(1.0)
    words = ["what-if", str(tmp_path / "x.db"), "--experiment", "page", "--target", "row=A,col=1"]
    done = CliRunner().invoke(build_app(), [*words, "--details"], catch_exceptions=False)
    assert "300 decisions" in done.stdout
