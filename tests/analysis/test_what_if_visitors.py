"""What would visitors with other attributes have brought: the model of them, its picture, targets of groups."""

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.analysis.what_if.off_policy import Logged
from rankone.analysis.what_if.visitor_model import Cells, calibration, fit, sigmoid, visitors_of
from rankone.errors import InputError
from rankone.live import Experiment
from rankone.numerics.seeds import generator
from tests.oracles.visitor_model import slow_effects

TARGET = "headline=A if device=phone; headline=B if device=desktop"


def a_log(decisions=6_000, seed=1):
    """Phones like A, desktops B; the policy shows A to phones more rarely than it should."""
    rng = generator(seed, "visitors")
    phone = rng.random(decisions) < 0.6
    first = rng.random(decisions) < np.where(phone, 0.3, 0.6)
    rate = np.where(phone, np.where(first, 0.4, 0.2), np.where(first, 0.1, 0.3))
    columns = {"headline": np.where(first, "A", "B"), "device": np.where(phone, "phone", "desktop")}
    chance = np.where(first == phone, np.where(phone, 0.3, 0.4), np.where(phone, 0.7, 0.6))
    return pl.DataFrame(columns | {"clicked": rng.random(decisions) < rate, "chance": chance}), phone


def row_of(found, name):
    return found.table.filter(estimator=name).row(0, named=True)


def test_groups_of_visitors_get_their_own():
    log, phone = a_log()
    truth = float(np.where(phone, 0.4, 0.3).mean())
    found = rankone.evaluate(log, TARGET, attributes="device")
    for name in ("ips", "snips", "logit-dr"):
        row = row_of(found, name)
        assert abs(row["value"] - truth) < 4.0 * row["se"], name
    assert abs(row_of(found, "logit-dm")["value"] - truth) < 4.0 * row_of(found, "logit-dr")["se"]
    assert found.first == "logit-dr"
    assert found.headline.startswith("headline 'A' for device phone; headline 'B' for device")
    table = pl.DataFrame({"device": ["phone", "desktop"], "headline": ["A", "B"], "probability": [1.0, 1.0]})
    assert row_of(rankone.evaluate(log, table, attributes=["device"]), "snips") == row_of(found, "snips")
    # Who looks at visitors can show each its own, so all alike earn less.
    assert row_of(rankone.evaluate(log, "headline=A", attributes="device"), "logit-dr")["high"] < truth


def test_without_attributes_nothing_changes():
    log, _ = a_log(2_000)
    plain, known = (rankone.evaluate(log, "headline=A", attributes=each) for each in ((), "device"))
    assert known.table.head(plain.table.height).equals(plain.table)
    assert known.table["estimator"].to_list()[-2:] == ["logit-dm", "logit-dr"]
    assert plain.calibration is None
    with pytest.raises(InputError, match="attributes"):
        plain.chart()


def test_the_effects_are_those_written_down():
    rng = generator(4, "effects")
    kind, action = rng.integers(2, size=60), rng.integers(3, size=60)
    features = np.array([[1.0, -0.5], [1.0, 0.5]])
    levels = np.hstack([np.ones((3, 1)), np.eye(3)])
    clicked = (rng.random(60) < 0.3).astype(float)
    found = fit(Cells(kind, action, features, levels), np.ones(60), clicked, np.zeros((2, 4)))
    rows = [(np.outer(features[k], levels[a]).ravel(), y) for k, a, y in zip(kind, action, clicked, strict=True)]
    rate = clicked.mean()
    spread = [1.0, 0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3]
    slow = slow_effects(rows, spread, [np.log(rate / (1.0 - rate)), *[0.0] * 7])
    assert found.ravel() == pytest.approx(slow, abs=1e-4)
    assert sigmoid(np.array([-1e9, 0.0, 1e9])).tolist() == [pytest.approx(0.0), 0.5, pytest.approx(1.0)]


def test_calibration_sees_a_wrong_model_and_not_a_right_one():
    rng = generator(5, "calibration")
    rates = rng.uniform(0.05, 0.4, 20_000)
    clicked = (rng.random(20_000) < rates).astype(float)
    right, wrong = calibration(rates, clicked, 0.95), calibration(0.5 * rates, clicked, 0.95)
    inside = pl.col("predicted").is_between("low", "high")
    assert right.select(inside.all()).item()
    assert not wrong.select(inside.any()).item()
    assert right["decisions"].sum() == 20_000


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (lambda n: [f"visitor {number}" for number in range(n)], "at most 50 levels of the attribute 'x'"),
        (lambda n: [str(number) for number in range(n - 1)] + ["abc"], "numbers and texts such as 'abc'"),
    ],
)
def test_an_attribute_that_is_none(column, said):
    log, _ = a_log(1_000)
    with pytest.raises(InputError) as refused:
        rankone.evaluate(log.with_columns(x=pl.Series(column(1_000))), "headline=A", attributes="x")
    assert said in str(refused.value)


def test_what_is_not_known_is_average():
    n = 1_000
    log, _ = a_log(n)
    holes = pl.Series([None if number % 3 else float(number % 7) for number in range(n)])
    nan = holes.fill_null(float("nan"))
    known = [
        rankone.evaluate(log.with_columns(x=each), "headline=A", attributes="x").table.fill_null(-1.0)
        for each in (holes, nan)
    ]
    assert known[0].equals(known[1])
    visitors = visitors_of(pl.DataFrame({"x": ["1", "2", "4", None, "unknown", "NaN"]}), ["x"])
    assert visitors.features[visitors.kind[3:], 1].tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("headline=A if device=phone", "a target for all visitors"),
        ("headline=A if device=phone; headline=B if device=watch", "visitors with device watch"),
        ("headline=A if device=phone; headline=B", "a target for each group of visitors"),
        ("headline=A if device=phone; headline=B if browser=x", "the same factors and attributes"),
    ],
)
def test_targets_of_groups_that_cannot_be(target, said):
    log, _ = a_log(500)
    with pytest.raises(InputError, match=said):
        rankone.evaluate(log, target, attributes="device")
    with pytest.raises(InputError, match="a column 'browser'"):
        rankone.evaluate(log, "headline=A", attributes="browser")


def test_an_export_knows_its_visitors():
    settings = {"context": {"device": ["phone", "desktop"], "age": (18, 90)}, "policy": "logit-ts", "db": None}
    rng = generator(6, "export")
    with Experiment("page", factors={"headline": ["A", "B"]}, seed=1, aim="both", **settings) as live:
        for _ in range(150):
            said = {"device": ["phone", "desktop"][int(rng.random() < 0.5)], "age": int(rng.integers(18, 90))}
            made = live.ask(10, context=said)
            taste = "A" if said["device"] == "phone" else "B"
            live.tell_many([(each, bool(rng.random() < (0.4 if each["headline"] == taste else 0.1))) for each in made])
        found = rankone.evaluate(live, TARGET)
        assert found.attributes == ("context_age", "context_device")
        assert abs(row_of(found, "logit-dr")["value"] - 0.4) < 4.0 * row_of(found, "logit-dr")["se"]
        assert rankone.evaluate(live, "headline=A").first == "adaptive"  # the policy learned


def test_the_log_of_groups_is_weighed_by_the_probabilities():
    log, phone = a_log(400)
    rows = rankone.analysis.what_if.logged_decisions
    wanted = rows.read_target(TARGET).rename({"context_device": "device"})
    used = rows.usable_rows(log, ["headline"], None, None, None, "", ["device"])
    found = rows.read_decisions(used.table, wanted, ["headline"], ["device"])
    assert isinstance(found, Logged)
    shows = (log["headline"] == "A").to_numpy() == phone
    assert found.weight == pytest.approx(np.where(shows, 1.0 / log["chance"].to_numpy(), 0.0))
