"""Estimators of single decisions against plain twins, for pairs and for three factors; export for other programs."""

import itertools

import numpy as np
import pytest

from rankone.analysis.what_if.off_policy import Logged, estimates, fold_rates
from rankone.analysis.what_if.tuned_weights import factors_of_subset, marginal_weights, slope
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.oracles.off_policy import plain_estimates, plain_marginal


def logged(sizes, seed=1, decisions=600):
    """Decisions on a product of factors, drawn with uneven probabilities, and a target that is another product."""
    rng = generator(seed, "off-policy")
    places = np.array(list(itertools.product(*(range(size) for size in sizes))))
    rates = np.prod([np.linspace(0.9, 0.3, size)[places[:, factor]] for factor, size in enumerate(sizes)], axis=0)
    chances, target = (rng.dirichlet(np.full(len(places), alpha)) + 1e-3 for alpha in (2.0, 1.0))
    chances, target = chances / chances.sum(), target / target.sum()
    action = rng.choice(len(places), decisions, p=chances)
    reward = (rng.random(decisions) < rates[action]).astype(float)
    log = Logged(action, reward, target[action] / chances[action], target, places, sizes)
    return log, chances, rates


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3, 2)], ids=["pairs", "three factors"])
def test_estimates_are_those_of_the_plain_twin(sizes):
    log, chances, _ = logged(sizes)
    fold, rates = fold_rates(log, seed=0)
    found = {each.estimator: each for each in estimates(log, seed=0)}
    plain = plain_estimates(
        log.action, log.reward, chances[log.action], log.target, rates[fold],
        found["switch-dr"].setting, found["shrunk-dr"].setting, found["subgauss-dr"].setting,
    )  # fmt: skip
    for name, value in plain.items():
        assert found[name].value == pytest.approx(value, rel=1e-9), name
    for factors in factors_of_subset(len(sizes)):
        weight = marginal_weights(log.cells[:, factors], log.action, log.groups(), log.target[None])
        value = plain_marginal(log.action, log.reward, log.target, log.cells, factors)
        assert (weight * log.reward).mean() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3, 2)], ids=["pairs", "three factors"])
def test_models_come_from_other_folds(sizes):
    """Outcomes of a fold do not move the rates that its own decisions are judged by."""
    log, _, _ = logged(sizes)
    fold, rates = fold_rates(log, seed=0)
    turned = np.where(fold == 2, 1.0 - log.reward, log.reward)
    again = fold_rates(Logged(log.action, turned, log.weight, log.target, log.cells, log.sizes), seed=0)[1]
    assert again[2].tolist() == rates[2].tolist()
    assert not np.allclose(again[0], rates[0])


def test_three_factors_are_estimated_within_their_errors():
    """30 logs: average errors within 4 standard errors, also of replay, switch and shrinkage, as the model is right."""
    errors = {}
    for seed in range(30):
        log, _, rates = logged((2, 3, 2), seed, 1_500)
        truth = float(log.target @ rates)
        for each in estimates(log, seed=seed):
            errors.setdefault(each.estimator, []).append(each.value - truth)
    assert len(errors) == 10
    assert errors.pop("mips"), "a factor may be left out that counts"
    for name, found in errors.items():
        assert abs(np.mean(found)) < 4.0 * np.std(found) / np.sqrt(30), name
    assert np.std(errors["shrunk-dr"]) < np.std(errors["ips"])


def test_replay_keeps_what_the_target_would_have_shown():
    """Uniform decisions and one combination: the mean outcome of those that show it."""
    rng = generator(3, "replay")
    action = rng.integers(4, size=400)
    reward = (rng.random(400) < 0.5).astype(float)
    target = np.eye(4)[2]
    places = np.array(list(itertools.product(range(2), range(2))))
    log = Logged(action, reward, target[action] * 4.0, target, places, (2, 2))
    replay = estimates(log)[0]
    assert replay.value == reward[action == 2].mean()
    assert replay.effective == (action == 2).sum()


def test_marginal_weights_need_only_the_factors_that_count():
    """Of two factors the second makes no difference: without it the estimate is as right, and nearer than ips."""
    rng = generator(5, "marginal")
    places = np.array(list(itertools.product(range(2), range(20))))
    rates, target = np.where(places[:, 0] == 0, 0.6, 0.3), rng.dirichlet(np.ones(40))
    ips, mips = [], []
    for seed in range(60):
        rng = generator(seed, "marginal logs")
        action = rng.integers(40, size=800)
        reward, weight = (rng.random(800) < rates[action]).astype(float), target[action] * 40.0
        own = marginal_weights(places[:, :1], action, np.zeros(800, np.int64), target[None])
        ips.append(float((weight * reward).mean() - target @ rates))
        mips.append(float((own * reward).mean() - target @ rates))
    assert abs(np.mean(mips)) < 4.0 * np.std(mips) / np.sqrt(60)
    assert np.std(mips) < 0.8 * np.std(ips)


def test_slope_stops_where_values_no_longer_agree():
    """Three estimators of 1: a wide one, a narrower one, and a narrow one that is wrong; one wider than the first."""
    rng = generator(6, "slope")
    wide, narrow, wrong = (rng.normal(mean, spread, 2_000) for mean, spread in ((1.0, 4.0), (1.0, 1.0), (3.0, 0.1)))
    assert slope([wide, narrow, wrong]) == 1
    assert slope([wide, wrong, narrow]) == 2
    assert slope([wide, rng.normal(9.0, 40.0, 2_000), narrow]) == 2
    assert slope([wide]) == 0


def test_tuning_is_one_of_two():
    log, _, _ = logged((3, 2))
    with pytest.raises(InputError, match="tuning"):
        estimates(log, tuning="best")
    named = {each.estimator for each in estimates(log, tuning="slope")}
    assert named == {each.estimator for each in estimates(log)}
