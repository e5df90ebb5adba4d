"""What would have happened: estimates from logged decisions against truths that are known."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.numerics.seeds import generator

ROWS, COLS = ["a", "b", "c"], ["x", "y"]
PAIRS = list(itertools.product(ROWS, COLS))
PRODUCT = np.outer([0.6, 0.4, 0.2], [0.9, 0.5]).ravel()
CROSSED = np.array([0.1, 0.6, 0.5, 0.1, 0.3, 0.3])  # no product at all
CHANCES = np.array([0.3, 0.1, 0.2, 0.15, 0.05, 0.2])
ALL = {"snips", "ips", "dm", "dr", "switch-dr", "shrunk-dr", "subgauss-dr", "mips", "replay", "adaptive"}
BIASED = ("switch-dr", "shrunk-dr", "subgauss-dr")


def simulated(seed, rates=PRODUCT, chances=CHANCES, decisions=4_000):
    rng = generator(seed, "logged decisions")
    chosen = rng.choice(len(PAIRS), decisions, p=chances)
    row, col = np.array(ROWS)[chosen // 2], np.array(COLS)[chosen % 2]
    clicked = (rng.random(decisions) < rates[chosen]).astype(int)
    return pl.DataFrame({"row": row, "col": col, "clicked": clicked, "chance": chances[chosen]})


def policy(probabilities):
    row, col = zip(*PAIRS, strict=True)
    return pl.DataFrame({"row": row, "col": col, "probability": probabilities})


def values(found):
    return dict(zip(found.table["estimator"], found.table["value"], strict=True))


def test_weights_are_right_by_enumeration():
    """A log that holds every pair and outcome exactly as often as it should: estimates by weights are the truth."""
    rates, chances = np.array([2, 1, 3, 2, 1, 2]) / 4, np.array([2, 1, 1, 2, 1, 1]) / 8
    rows = []
    for (row, col), rate, chance in zip(PAIRS, rates, chances, strict=True):
        shown = round(chance * 800)
        rows += [(row, col, int(place < rate * shown), chance) for place in range(shown)]
    log = pl.DataFrame(rows, schema=["row", "col", "clicked", "chance"], orient="row")
    target = np.array([0.1, 0.2, 0.3, 0.15, 0.05, 0.2])
    found = values(rankone.evaluate(log, policy(target)))
    assert found["ips"] == pytest.approx(float(target @ rates))
    assert found["snips"] == pytest.approx(float(target @ rates))
    single = rankone.evaluate(log, {"row": "b", "col": "x"})
    assert values(single)["ips"] == pytest.approx(0.75)
    assert single.effective == pytest.approx(100)
    assert single.largest_weights == [8.0] * 3


def test_the_logs_own_policy_has_weights_of_one():
    log = simulated(1)
    found = rankone.evaluate(log, policy(CHANCES))
    assert found.largest_weights == pytest.approx([1.0] * 3)
    assert found.effective == pytest.approx(log.height)
    assert found.unsupported == 0.0
    for estimator in ("ips", "snips"):
        assert values(found)[estimator] == pytest.approx(log["clicked"].mean())


@pytest.mark.parametrize("rates", [PRODUCT, CROSSED], ids=["product", "crossed"])
def test_estimates_are_within_their_errors_and_the_model_only_where_it_holds(rates):
    """40 logs: the average error of each estimator is within 4 standard errors of 0, but that of a wrong model."""
    target = np.array([0.05, 0.25, 0.1, 0.1, 0.3, 0.2])
    truth, logs = float(target @ rates), 40
    errors = {name: [] for name in ALL}
    held = dict.fromkeys(ALL, 0)
    for seed in range(logs):
        found = rankone.evaluate(simulated(seed, rates, decisions=1_500), policy(target))
        for row in found.table.iter_rows(named=True):
            errors[row["estimator"]].append(row["value"] - truth)
            held[row["estimator"]] += row["se"] is not None and row["low"] <= truth <= row["high"]
    for name, found in errors.items():
        z = abs(np.mean(found)) / (np.std(found) / np.sqrt(logs))
        if name == "dm" and rates is CROSSED:
            assert z > 6.0, "a product is the wrong model"
        elif name != "mips" and (rates is PRODUCT or name not in BIASED):  # these give up a little bias for variance
            assert z < 4.0, name
    assert min(held["ips"], held["snips"], held["dr"], held["adaptive"]) >= 33, (
        "95% intervals: 38 expected, 33 is 3.6 errors below"
    )
    assert np.std(errors["dr"]) < np.std(errors["ips"])


def test_a_log_that_cannot_say_says_so():
    rare = rankone.evaluate(simulated(2, decisions=150), {"row": "c", "col": "x"})
    assert not rare.answered
    assert rare.table.is_empty()
    assert "No answer: below 30 effective decisions an estimate is chance." in repr(rare)
    target = pl.DataFrame({"row": ["a", "new"], "col": ["x", "x"], "probability": [0.75, 0.25]})
    part = rankone.evaluate(simulated(3), target)
    assert part.unsupported == 0.25
    assert "25% of the target was never shown: 25% are levels it never shows" in repr(part)
    assert [name for name, value in values(part).items() if value is None] == [
        "dm", "dr", "switch-dr", "shrunk-dr", "subgauss-dr", "adaptive",
    ]  # fmt: skip
    assert values(part)["snips"] == pytest.approx(0.54, abs=0.06)
    named = rankone.evaluate(simulated(3), target.drop("col"), factors=["row", "col"])
    assert (named.unsupported, named.unknown) == (0.25, 0.25)


def test_the_model_speaks_of_combinations_that_were_never_shown():
    log = simulated(3).filter(~((pl.col("row") == "c") & (pl.col("col") == "x")))
    target = pl.DataFrame({"row": ["a", "c"], "col": ["x", "x"], "probability": [0.5, 0.5]})
    found = rankone.evaluate(log.with_columns(pl.col("chance") / 0.95), target)
    assert (found.unsupported, found.unknown) == (0.5, 0.0)
    assert values(found)["dm"] == pytest.approx(0.5 * 0.54 + 0.5 * 0.18, abs=0.06)


def test_only_estimates_whose_error_is_known_have_an_interval():
    table = rankone.evaluate(simulated(3), {"row": "a", "col": "x"}).table
    assert table.filter(pl.col("low").is_null())["estimator"].to_list() == ["dm", *BIASED, "mips"]


def test_exports_have_outcomes_that_do_not_count_and_decisions_without_a_probability():
    """A policy that shows a, x unless it explores, which it does in half of the decisions: only then it says how."""
    explores = pl.Series(generator(2, "explores").random(4_000) < 0.5)
    shown = simulated(2, chances=np.full(6, 1 / 6)).with_columns(chance=pl.when(explores).then(1 / 12), learned=True)
    log = shown.with_columns(
        row=pl.when(explores).then("row").otherwise(pl.lit("a")),
        col=pl.when(explores).then("col").otherwise(pl.lit("x")),
    )
    wrong = log.with_columns(clicked=1 - pl.col("clicked"), learned=False)
    found = rankone.evaluate(pl.concat([log, wrong]), {"row": "b", "col": "x"})
    assert (found.decisions, found.left_out, found.without_chance) == (4_000, 4_000, int((~explores).sum()))
    assert values(found)["ips"] == pytest.approx(0.36, abs=0.09)
    assert "have weight 0" in found.details
    with pytest.raises(InputError, match="none in this export: its policy says none"):
        rankone.evaluate(log.filter(pl.col("chance").is_null()), {"row": "b", "col": "x"})


def test_a_target_without_a_chance_in_part_of_the_log_is_told():
    """A policy that stopped showing a pair: half of the log says nothing about it."""
    later = simulated(9, chances=np.array([0.5, 0.0, 0.2, 0.1, 0.1, 0.1]))
    found = rankone.evaluate(pl.concat([simulated(8), later]), {"row": "a", "col": "y"})
    assert found.average_weight == pytest.approx(0.5, abs=0.05)
    assert "Weights average 0." in repr(found)
    few = rankone.evaluate(simulated(12, decisions=450), {"row": "a", "col": "y"})
    assert few.average_weight < 0.8
    assert "Weights average" not in repr(few), "as far from 1 as chance explains"
    assert values(found)["snips"] == pytest.approx(0.3, abs=0.08)


def test_wrong_probabilities_are_not_blamed_on_what_was_shown():
    """Too high ones look like a target without a chance at times, so both are named; too low ones can be nothing else."""
    high = rankone.evaluate(simulated(8).with_columns(chance=1.5 * pl.col("chance")), {"row": "a", "col": "x"})
    assert "the logged probabilities are too high, or part of the log could not show the target" in repr(high)
    called = simulated(8).with_columns(chance=1 / 6)
    wrong = rankone.evaluate(called, {"row": "c", "col": "x"})  # shown with 0.05
    assert wrong.average_weight < 0.5
    shown = called.filter(row="a", col="x").height
    assert f"The probabilities do not fit the log: 'a, x' was shown {shown:,} times, where they say about" in repr(
        wrong
    )
    assert "could not show" not in repr(wrong)
    assert "do not fit" not in repr(rankone.evaluate(simulated(8), {"row": "c", "col": "x"}))


def test_the_command_prints_the_same(tmp_path):
    simulated(1).write_csv(tmp_path / "log.csv")
    words = ["what-if", str(tmp_path / "log.csv"), "--target", "row=a,col=x"]
    text = CliRunner().invoke(build_app(), words, catch_exceptions=False).stdout
    for said in (
        "'a' with 'x' would have earned 0.",
        "Assumes: correct logged probabilities",
        "the log earned",
        "snips",
    ):
        assert said in text
    alone = ["what-if", words[1], "--target", "row=a", "--factor", "row", "--factor", "col"]
    assert "'a' would have earned 0." in CliRunner().invoke(build_app(), alone, catch_exceptions=False).stdout
    told = CliRunner().invoke(build_app(), [*words, "--json"], catch_exceptions=False).stdout
    assert json.loads(told)["estimates"][2]["estimator"] == "snips"


def test_logs_without_probabilities_are_called_uniform():
    log = simulated(4, chances=np.full(6, 1 / 6)).drop("chance")
    with pytest.raises(InputError, match="say uniform"):
        rankone.evaluate(log, {"row": "a", "col": "x"})
    found = rankone.evaluate(log, "row=a,col=x", uniform=True)
    assert values(found)["snips"] == pytest.approx(0.54, abs=0.08)
    assert "Assumes: an equal split over all combinations in the log" in repr(found)


def test_probabilities_may_be_the_shares_of_the_log_and_are_called_so():
    """Then snips is the mean outcome of what is asked for, and its interval holds as with the true probabilities."""
    log = simulated(4)
    found = rankone.evaluate(log.drop("chance"), "row=a,col=x", estimated=True)
    own = log.filter(row="a", col="x")
    assert values(found)["ips"] == pytest.approx(own["clicked"].mean())
    assert found.effective == pytest.approx(own.height)
    assert "Assumes: probabilities equal to shares of the log (a policy that neither changed" in repr(found)
    with pytest.raises(InputError, match="one of uniform and estimated"):
        rankone.evaluate(log, "row=a,col=x", estimated=True, uniform=True)


def test_factors_that_are_not_named_are_chosen_as_in_the_log():
    found = rankone.evaluate(simulated(5), {"row": "a"}, factors=["row", "col"])
    assert values(found)["snips"] == pytest.approx(0.6 * (0.75 * 0.9 + 0.25 * 0.5), abs=0.06)
    with pytest.raises(InputError, match="weights of 1 on average, as probabilities of row together would give"):
        rankone.evaluate(simulated(5), {"row": "a"})


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ({"chance": 0.0}, "row=a,col=x", "probabilities above 0 and up to 1"),
        ({"clicked": 3}, "row=a,col=x", "outcomes from 0 to 1"),
        ({"clicked": None}, "row=a,col=x", "decisions with outcome and probability"),
        ({}, "row:a", "a target written factor=level"),
        ({}, {}, "a target, but got nothing"),
        ({}, {"line": "a"}, "a column 'line'"),
        ({}, "row=a,col=9", r"a level of col \(x, y\) in the target, but got '9'"),
        ({}, pl.DataFrame({"row": ["a"], "col": ["x"], "probability": [0.4]}), "add up to 1"),
        ({}, pl.DataFrame({"row": ["a"]}), "a column 'probability' in the target"),
        ({}, pl.DataFrame({"row": ["a"], "col": ["x"], "probability": [float("nan")]}), "1 that are no numbers"),
        ({}, pl.DataFrame({"row": ["a", "b"], "col": ["x"] * 2, "probability": [2.0, -1.0]}), "of 0 or more"),
    ],
)
def test_bad_input_is_a_sentence(change, target, said):
    log = simulated(6, decisions=100).with_columns(**{name: pl.lit(value) for name, value in change.items()})
    with pytest.raises(InputError, match=said):
        rankone.evaluate(log, target)


def test_an_interval_ends_where_outcomes_do_even_if_the_estimate_does_not():
    log = pl.DataFrame({"row": ["a", "b"] * 100, "clicked": [0.99, 0.5] * 100, "chance": [0.4] * 200})
    row = rankone.evaluate(log, "row=a").table.row(by_predicate=pl.col("estimator") == "ips", named=True)
    assert row["value"] > 1.0
    assert row["low"] <= row["high"] <= 1.0


@pytest.mark.parametrize("decisions", [1, 5])
def test_a_handful_of_decisions_is_no_answer_and_no_wrong_probability(decisions):
    log = pl.DataFrame({"row": ["a"] * decisions, "clicked": [1] * decisions, "chance": [0.5] * decisions})
    assert not rankone.evaluate(log, "row=a").answered


def test_times_of_a_text_file_are_ordered_as_numbers(tmp_path):
    log = simulated(6, decisions=300).with_columns(step=pl.int_range(300))
    log.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "log.csv")
    found = rankone.evaluate(tmp_path / "log.csv", "row=a,col=x", time="step")
    assert values(found)["adaptive"] == pytest.approx(values(rankone.evaluate(log, "row=a,col=x"))["adaptive"])


def test_an_experiment_knows_its_factors(tmp_path):
    with rankone.Database(tmp_path / "live.db", durability="off") as database:
        names = {"headline": ["A", "B"], "image": ["1", "2"], "button": ["x", "y"]}
        page = rankone.Experiment("page", factors=names, policy="uniform", db=database, seed=1)
        for number, decision in enumerate(page.ask(400)):
            page.tell(decision, clicked=number % 3 == 0)
        found = rankone.evaluate(page, {"headline": "A"})  # the other factors are chosen as in the log
        assert found.average_weight == pytest.approx(1.0, abs=0.2)
        assert rankone.evaluate(page, rankone.UTS(), horizon=30).answered


def test_rewards_that_were_rounded_are_said_to_be(tmp_path):
    with rankone.Database(tmp_path / "live.db", durability="off") as database:
        page = rankone.Experiment(
            "page", 2, 2, policy="uniform", db=database, seed=1, goals={"order": {"kind": "amount", "cap": 10.0}}
        )
        for number, decision in enumerate(page.ask(400)):
            page.tell(decision, value=float(number % 10))
        found = rankone.evaluate(page, {"row": "row 1", "col": "col 1"})
        replayed = rankone.evaluate(page, rankone.UTS(), horizon=40)
        for each in (found, replayed):
            assert each.rounded
            assert "amounts, rounded at random" in str(each)
    assert "rounded" not in str(rankone.evaluate(simulated(5), {"row": "a", "col": "x"}))


def test_settings_that_would_be_ignored_are_refused(tmp_path):
    log = simulated(5, decisions=300)
    for target, settings, said in (
        (["a", "b"], {"factors": "row"}, "no factors and no time for a list, but got factors"),
        (["a", "b"], {"time": "step"}, "no factors and no time for a list, but got time"),
        (["a", "b"], {"horizon": 10}, "horizon only for a policy"),
        ("row=a,col=x", {"horizon": 10}, "horizon only for a policy"),
        (3, {}, "a table with probabilities or a policy as the target, but got int"),
        (rankone.UTS(), {}, "the factors that the policy decides, but got the columns"),
        (rankone.UTS(), {"chance": "chance"}, "without a word on probabilities, but got chance"),
        (rankone.UTS(), {"uniform": True}, "without a word on probabilities, but got uniform"),
        (rankone.UTS(), {"estimated": True}, "without a word on probabilities, but got estimated"),
    ):
        with pytest.raises(InputError, match=said):
            rankone.evaluate(log, target, **settings)
    log.write_csv(tmp_path / "log.csv")
    for options, said in (
        (["--target", "row=a,col=x", "--of", "any"], "--of together with --list"),
        (["--list", "a,b", "--time", "step"], "--list without --factor and --time"),
        (["--list", "a,b", "--factor", "row"], "--list without --factor and --time"),
        (["--policy", "uts", "--uniform"], "Leave it out: a policy that is replayed needs none"),
    ):
        result = CliRunner().invoke(build_app(), ["what-if", str(tmp_path / "log.csv"), *options])
        assert said in str(result.exception)


def test_the_open_bandit_dataset_is_read_with_its_propensities(tmp_path):
    """Its propensities are those of the item at a given position: the rows of one position answer for it."""
    log = simulated(7).filter(col="x").with_columns(pl.col("chance") / CHANCES[::2].sum())
    log = log.rename({"row": "item_id", "col": "position", "clicked": "click", "chance": "propensity_score"})
    log.write_csv(tmp_path / "all.csv")
    found = rankone.evaluate(tmp_path / "all.csv", "item_id=a")
    assert values(found)["snips"] == pytest.approx(0.54, abs=0.06)
    assert values(found)["ips"] == pytest.approx(0.54, abs=0.06)
    assert found.to_dict()["answered"] is True
