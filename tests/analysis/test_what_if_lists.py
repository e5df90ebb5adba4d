"""Lists that would have been shown: weights by enumeration, worlds where estimators are right, and one where not."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.analysis.what_if.list_off_policy import LoggedLists, cascade, count_lists, list_estimates
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.oracles.lists_off_policy import (
    at_position,
    beginning,
    cascade_dr,
    expected,
    plackett_luce,
    uniform_lists,
    value,
    weights,
)

ATTRACTION, EXAMINED = np.array([0.7, 0.5, 0.3, 0.2]), np.array([0.9, 0.5, 0.3])
LOGGER, TARGET = plackett_luce([1.0, 2.0, 3.0, 2.0], 2), plackett_luce([6.0, 3.0, 1.0, 1.0], 2)
ALL = {"sips", "snsips", "rips", "snrips", "iips", "sniips", "dm", "cascade-dr"}


def by_position(shown):
    return ATTRACTION[list(shown)] * EXAMINED[: len(shown)]


def by_cascade(shown):
    left = np.cumprod(np.concatenate([[1.0], 1.0 - ATTRACTION[list(shown)]]))[:-1]
    return ATTRACTION[list(shown)] * left


def drawn(seed, world, logger, n_lists):
    """Lists as a table with all kinds of probabilities; clicks of a cascade stop at the first."""
    rng = generator(seed, "lists")
    every = list(logger)
    chosen = rng.choice(len(every), n_lists, p=list(logger.values()))
    items, positions = np.array(every)[chosen], len(every[0])
    if world is by_cascade:
        attracted = rng.random(items.shape) < ATTRACTION[items]
        clicked = attracted & (np.cumsum(attracted, axis=1) == 1)
    else:
        clicked = rng.random(items.shape) < ATTRACTION[items] * EXAMINED[:positions]
    begun = np.array([[beginning(logger, each[: k + 1]) for k in range(positions)] for each in every])[chosen]
    placed = np.array([[at_position(logger, k, item) for k, item in enumerate(each)] for each in every])[chosen]
    return pl.DataFrame(
        {
            "list": np.repeat(np.arange(n_lists), positions),
            "position": np.tile(np.arange(1, positions + 1), n_lists),
            "item": np.array(list("abcd"))[items].ravel(),
            "clicked": clicked.ravel(),
            "beginning_chance": begun.ravel(),
            "position_chance": placed.ravel(),
        }
    )


def as_table(policy):
    rows = [
        (number, place + 1, "abcd"[item], chance)
        for number, (each, chance) in enumerate(policy.items())
        for place, item in enumerate(each)
    ]
    return pl.DataFrame(rows, schema=["list", "position", "item", "probability"], orient="row")


def values(found):
    return dict(zip(found.table["estimator"], found.table["value"], strict=True))


def test_on_average_each_weight_is_right_in_its_world_by_enumeration():
    """All 12 lists of 4 items at 2 positions."""
    truth = {world: value(TARGET, world) for world in (by_position, by_cascade)}
    for kind in ("sips", "rips"):
        for world, right in truth.items():
            assert expected(kind, TARGET, LOGGER, world) == pytest.approx(right)
    assert expected("iips", TARGET, LOGGER, by_position) == pytest.approx(truth[by_position])
    assert abs(expected("iips", TARGET, LOGGER, by_cascade) - truth[by_cascade]) > 0.02


@pytest.mark.parametrize("target", [TARGET, {(2, 0): 1.0}], ids=["policy", "list"])
def test_weights_are_those_of_the_plain_twin(target):
    log = drawn(1, by_position, LOGGER, 3_000)
    wanted = as_table(target) if len(target) > 1 else ["c", "a"]
    found = values(rankone.evaluate_lists(log, wanted))
    items = np.array(["abcd".index(item) for item in log["item"]]).reshape(-1, 2)
    clicked = log["clicked"].to_numpy().reshape(-1, 2)
    for kind in ("sips", "rips", "iips"):
        each = np.array([weights(kind, target, LOGGER, shown) for shown in items.tolist()])
        assert found[kind] == pytest.approx((each * clicked).sum(axis=1).mean(), rel=1e-9)
        assert found[f"sn{kind}"] == pytest.approx(((each * clicked).mean(axis=0) / each.mean(axis=0)).sum(), rel=1e-9)


def test_cascade_dr_is_that_of_the_paper():
    """Their recursion over values of beginnings, with a model's own values, is our sum of residuals."""
    log = drawn(2, by_cascade, LOGGER, 200)
    items = np.array(["abcd".index(item) for item in log["item"]]).reshape(-1, 2)
    clicked = log["clicked"].to_numpy().reshape(-1, 2).astype(float)
    predict = cascade(count_lists(items, clicked, 4))

    def expects(here):
        """What the model expects at the last of these items and, going on as the target does, below."""
        places = predict(np.array([[*here, 0][:2]]))[0]
        if len(here) == 2:
            return float(places[1])
        mass = beginning(TARGET, here)
        below = [
            beginning(TARGET, (*here, item)) / mass * expects((*here, item)) for item in range(4) if item not in here
        ]
        return float(places[0]) + sum(below)

    theirs = cascade_dr(TARGET, LOGGER, items.tolist(), clicked, expects, 2)
    weight = np.array([weights("rips", TARGET, LOGGER, shown) for shown in items.tolist()])
    model = sum(chance * predict(np.array([each])).sum() for each, chance in TARGET.items())
    ours = model + (weight * (clicked - predict(items))).sum(axis=1).mean()
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("world", [by_position, by_cascade], ids=["position-based", "cascade"])
def test_estimates_are_within_their_errors_and_iips_only_where_it_is_right(world):
    """40 logs of 1,000 lists: average errors within 4 standard errors; intervals hold as often as they say."""
    truth, logs = value(TARGET, world), 40
    errors, held = {name: [] for name in ALL}, dict.fromkeys(ALL, 0)
    for seed in range(logs):
        found = rankone.evaluate_lists(drawn(seed, world, LOGGER, 1_000), as_table(TARGET))
        for row in found.table.iter_rows(named=True):
            errors[row["estimator"]].append(row["value"] - truth)
            held[row["estimator"]] += row["se"] is not None and row["low"] <= truth <= row["high"]
    for name, found in errors.items():
        z = abs(np.mean(found)) / (np.std(found) / np.sqrt(logs))
        if "iips" in name and world is by_cascade:
            assert z > 6.0, name
        elif name != "dm" or world is by_cascade:
            assert z < 4.0, name
    for name in ("sips", "snsips", "rips", "snrips", "cascade-dr"):
        assert held[name] >= 33, "95% intervals: 38 expected, 33 is 3.6 errors below"
    assert np.std(errors["iips"]) < np.std(errors["rips"]) < np.std(errors["sips"])
    assert np.std(errors["cascade-dr"]) < np.std(errors["rips"])


def test_one_position_makes_them_equal():
    logger, target = plackett_luce([1.0, 2.0, 3.0, 2.0], 1), plackett_luce([4.0, 2.0, 1.0, 1.0], 1)
    found = values(rankone.evaluate_lists(drawn(3, by_position, logger, 500), as_table(target)))
    assert found["sips"] == found["rips"] == found["iips"]
    assert found["snsips"] == found["snrips"] == found["sniips"]


def test_the_logs_own_policy_has_weights_of_one():
    log = drawn(4, by_cascade, LOGGER, 500)
    found = rankone.evaluate_lists(log, as_table(LOGGER))
    clicks = log["clicked"].sum() / 500
    for name in ("sips", "rips", "iips", "snsips", "snrips", "sniips"):
        assert values(found)[name] == pytest.approx(clicks, rel=1e-9)
    assert found.table["largest"].drop_nulls().to_list() == pytest.approx([1.0] * 7)
    assert found.table.filter(estimator="sips")["effective"].item() == pytest.approx(500)


def test_any_click_is_a_first_click():
    """Then the position of the click does not matter, and weights of single positions cannot be right."""
    log = drawn(5, by_position, LOGGER, 8_000)
    found = rankone.evaluate_lists(log, as_table(TARGET), of="any")
    truth = sum(chance * (1.0 - np.prod(1.0 - by_position(each))) for each, chance in TARGET.items())
    assert "iips" not in values(found)
    for row in found.table.filter(pl.col("se").is_not_null()).iter_rows(named=True):
        assert abs(row["value"] - truth) < 4.0 * row["se"]
    assert found.logged == log.group_by("list").agg(pl.col("clicked").any())["clicked"].mean()


def test_rows_may_be_in_any_order_and_lists_that_are_not_whole_are_left_out(tmp_path):
    log = drawn(6, by_cascade, LOGGER, 1_000)
    found = rankone.evaluate_lists(log, ["a", "b"])
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=1)
    assert values(rankone.evaluate_lists(shuffled, ["a", "b"])) == pytest.approx(values(found))
    broken = pl.concat([shuffled, log.head(1).with_columns(list=pl.lit(-1, pl.Int64))])
    less = rankone.evaluate_lists(broken, ["a", "b"])
    assert (less.lists, less.left_out) == (1_000, 1)
    assert "1 list left out" in less.details
    log.write_csv(tmp_path / "lists.csv")
    words = ["what-if", str(tmp_path / "lists.csv"), "--list", "a,b"]
    told = CliRunner().invoke(build_app(), [*words, "--json"], catch_exceptions=False).stdout
    read = {each["estimator"]: each["value"] for each in json.loads(told)["estimates"]}
    assert read == pytest.approx(values(found))
    assert "a, b would have earned 0." in CliRunner().invoke(build_app(), words, catch_exceptions=False).stdout


def test_probabilities_of_items_given_those_above_and_of_uniform_lists():
    log = drawn(7, by_cascade, uniform_lists(4, 2), 3_000)
    whole = values(rankone.evaluate(log, ["a", "b"]))
    bare = log.drop("beginning_chance", "position_chance")
    said = rankone.evaluate(bare, ["a", "b"], uniform=True)
    assert values(said) == pytest.approx(whole)
    assert "lists drawn evenly from the items" in repr(said)
    above = bare.with_columns(chance=pl.when(position=1).then(1 / 4).otherwise(1 / 3))
    given = values(rankone.evaluate(above, ["a", "b"]))
    assert given == pytest.approx({name: each for name, each in whole.items() if "iips" not in name})
    with pytest.raises(InputError, match="say uniform"):
        rankone.evaluate(bare, ["a", "b"])


def test_probabilities_of_lists_may_be_their_shares_of_the_log_and_are_called_so():
    log = drawn(11, by_cascade, LOGGER, 20_000)
    truth = value(TARGET, by_cascade)
    found = rankone.evaluate_lists(log.drop("beginning_chance", "position_chance"), as_table(TARGET), estimated=True)
    for name in ("sips", "rips", "cascade-dr"):
        row = found.table.row(by_predicate=pl.col("estimator") == name, named=True)
        assert abs(row["value"] - truth) < 4.0 * row["se"]
    assert "probabilities equal to shares of the log" in repr(found)


def test_a_log_that_cannot_say_says_so():
    log = drawn(8, by_cascade, LOGGER, 100)
    refused = rankone.evaluate_lists(log.drop("position_chance"), ["a", "b"])
    assert not refused.answered
    assert "No answer: below 30 effective lists" in repr(refused)
    assert "dm" not in values(refused)
    rows = [(0, 1, "a", 0.75), (0, 2, "b", 0.75), (1, 1, "a", 0.25), (1, 2, "new", 0.25)]
    target = pl.DataFrame(rows, schema=["list", "position", "item", "probability"], orient="row")
    part = rankone.evaluate_lists(drawn(8, by_cascade, LOGGER, 2_000), target)
    assert part.unsupported == {"sips": 0.25, "rips": 0.125, "iips": 0.125}
    assert "Never shown of the target: 25% of its lists, 12% of its beginnings of lists" in repr(part)
    assert values(part)["dm"] is None
    assert values(part)["sips"] is not None


def behind_first(table, name, value):
    """Return a table whose rows from the second on have another value in a column."""
    later = pl.int_range(pl.len()) > 0
    return table.with_columns(pl.when(later).then(pl.lit(value)).otherwise(pl.col(name)).alias(name))


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ({}, ["a", "a"], "lists of different items"),
        ({"position_chance": 0.0}, ["a", "b"], "probabilities above 0"),
        ({"position_chance": 0.01}, ["a", "b"], "weights of 1 on average, as probabilities of iips"),
        ({"clicked": 3}, ["a", "b"], "outcomes from 0 to 1"),
        ({"clicked": None}, ["a", "b"], "whole lists with outcomes and probabilities"),
        ({}, pl.DataFrame({"list": [1], "item": ["a"]}), "the columns list, position, item, probability"),
        ({}, as_table({(0, 1): 0.5}), "add up to 1"),
        ({}, as_table({(0, 1): float("nan")}), "a probability that is a number in each row of the target"),
        ({}, as_table({(0, 1): 1.0}).with_columns(position=pl.lit(1)), "positions 1, 2, ..., each once"),
        (
            {},
            as_table({(0, 1): 1.0}).with_columns(position=pl.col("position") * 2 - 1),
            "each once, in each list of the target, but got 1, 3 in list",
        ),
        ({}, as_table({(0, 1): 1.0}).with_columns(position=pl.lit("top")), "a position that is a number in each row"),
        *(
            (
                {},
                behind_first(as_table({(0, 1): 1.0}), name, missing),
                f"{said} in each row of the target, but got 1 without",
            )
            for name, missing, said in (
                ("list", None, "a list"),
                ("item", None, "an item"),
                ("position", None, "a position that is a number"),
                ("probability", None, "a probability that is a number"),
                ("probability", float("nan"), "a probability that is a number"),
            )
        ),
        (
            {},
            as_table({(0, 1): 1.0}).with_columns(probability=1.0 / pl.col("position")),
            "one probability for each list of the target, but got 1, 0.5 in list",
        ),
    ],
)
def test_bad_input_is_a_sentence(change, target, said):
    log = drawn(9, by_cascade, LOGGER, 300).with_columns(**{name: pl.lit(each) for name, each in change.items()})
    with pytest.raises(InputError, match=said):
        rankone.evaluate_lists(log, target)


def test_positions_of_a_target_may_begin_at_0():
    log, target = drawn(9, by_cascade, LOGGER, 300), as_table(TARGET)
    found = rankone.evaluate_lists(log, target.with_columns(pl.col("position") - 1))
    assert values(found) == values(rankone.evaluate_lists(log, target))


def test_probabilities_that_cannot_answer_are_named():
    log = drawn(9, by_cascade, LOGGER, 300)
    with pytest.raises(InputError, match="only probabilities of whole lists, which are longer"):
        rankone.evaluate_lists(log.with_columns(whole=pl.lit(0.1)), ["a"], chance={"list": "whole"})
    with pytest.raises(
        InputError, match="one probability for each whole list, but got several within a list in 'chance'"
    ):
        rankone.evaluate_lists(log.with_columns(chance=0.5 / pl.col("position")), ["a", "b"], chance={"list": "chance"})
    with pytest.raises(InputError, match="only probabilities of items at their positions"):
        rankone.evaluate_lists(log, ["a", "b"], chance={"position": "position_chance"}, of="any")


def test_an_estimate_needs_the_weights_that_it_is_made_of():
    log = LoggedLists(np.zeros((2, 1), int), np.ones((2, 1)), np.zeros((1, 1), int), np.ones(1), 1, {})
    assert [each.estimator for each in list_estimates(log, 0)] == ["dm"]
