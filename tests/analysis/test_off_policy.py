"""Estimators of single decisions against plain twins, for pairs and for three factors; export for other programs."""

import itertools

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.analysis.what_if.off_policy import Logged, estimates, fold_rates
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.oracles.off_policy import plain_estimates


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
        found["switch-dr"].cap, found["shrunk-dr"].cap,
    )  # fmt: skip
    for name, value in plain.items():
        assert found[name].value == pytest.approx(value, rel=1e-9), name


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
    assert len(errors) == 8
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


def test_the_open_bandit_pipelines_dictionary_has_every_decision(tmp_path):
    with rankone.Experiment("page", ["A", "B"], ["1", "2"], db=tmp_path / "x.db", seed=1, durability="off") as page:
        page.tell_many([(each, each["row"] == "A") for each in page.ask(40)])
        page.ask()
        feedback = rankone.to_obp(page, target={"row": "A", "col": "1"})
        found = rankone.evaluate(page, {"row": "A", "col": "1"})
    assert (feedback["n_rounds"], feedback["n_actions"]) == (40, 4)
    assert feedback["action_names"] == [("A", "1"), ("A", "2"), ("B", "1"), ("B", "2")]
    assert feedback["reward"].tolist() == [float(action < 2) for action in feedback["action"]]
    assert feedback["action_context"].tolist() == [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]
    assert feedback["position"].tolist() == [0] * 40
    assert feedback["context"].shape == (40, 1)
    assert feedback["action_dist"].shape == (40, 4, 1)
    rounds = np.arange(40)
    weight = feedback["action_dist"][rounds, feedback["action"], feedback["position"]] / feedback["pscore"]
    assert weight.mean() == pytest.approx(found.average_weight, rel=1e-9)


def test_rounds_without_a_position_are_left_out_and_counted():
    log = pl.DataFrame(
        {"item_id": ["a", "b", "a"], "position": [1.0, None, 2.0], "click": [0, 1, 1], "propensity_score": 0.5}
    )
    for each in (log, log.with_columns(pl.col("position").fill_null(np.nan))):
        feedback = rankone.to_obp(each, factors="item_id", position="position")
        assert (feedback["n_rounds"], feedback["n_left_out"]) == (2, 1)
        assert feedback["position"].tolist() == [0, 1]
    with pytest.raises(InputError, match="Expected decisions with a position"):
        rankone.to_obp(log.with_columns(position=None), factors="item_id", position="position")


def test_positions_that_were_given_and_contexts_go_with_it():
    log = pl.DataFrame(
        {
            "item_id": [14, 3, 14], "position": [3, 1, 2], "click": [0, 1, 0], "propensity_score": [0.5, 0.25, 0.5],
            "age": [30, 40, 50],
        }
    )  # fmt: skip
    feedback = rankone.to_obp(log, factors="item_id", position="position", context=["age"], target={"item_id": 14})
    assert feedback["position"].tolist() == [2, 0, 1]
    assert feedback["context"].tolist() == [[30.0], [40.0], [50.0]]
    assert feedback["action"].tolist() == [0, 1, 0]
    assert feedback["action_dist"].shape == (3, 2, 3)
    assert feedback["pscore"].tolist() == [0.5, 0.25, 0.5]
    assert rankone.to_obp(log, factors="item_id", context="age")["context"].tolist() == feedback["context"].tolist()
    for age in ([30, None, 50], ["30", "unknown", "50"]):
        with pytest.raises(InputError, match="1 decision without one in 'age'"):
            rankone.to_obp(log.with_columns(age=pl.Series(age)), factors="item_id", context="age")
    with pytest.raises(InputError, match="a target that names all of item_id"):
        rankone.to_obp(log, factors="item_id", target={"position": 1})
    with pytest.raises(InputError, match="a target that the log shows"):
        rankone.to_obp(log, factors="item_id", target={"item_id": 99})
