"""Logs of Vowpal Wabbit's tools and the Open Bandit Dataset, valued as they are."""

import gzip
import json

import pytest

import rankone
from rankone.analysis.what_if.dsjson import is_dsjson, read_dsjson
from rankone.errors import InputError
from rankone.numerics.seeds import generator

RATES, SHARES, NAMES = (0.1, 0.3, 0.6), (0.5, 0.3, 0.2), ("politics", "sports", "music")


def event(rng, number, **more):
    """One event as VW's documentation shows them: the actions in an order of its own each time."""
    chosen = int(rng.choice(3, p=SHARES))
    order = [int(index) for index in rng.permutation(3)]
    place = order.index(chosen)
    return {
        "_label_cost": -float(rng.random() < RATES[chosen]),
        "_label_probability": SHARES[chosen],
        "_label_Action": place + 1,
        "_labelIndex": place,
        "o": [],
        "Timestamp": f"2026-05-04T10:00:{number % 60:02}.0000000Z",
        "Version": "1",
        "EventId": f"event {number}",
        "a": [place + 1, *(other + 1 for other in range(3) if other != place)],
        "c": {
            "User": {"device": "phone" if rng.random() < 0.5 else "desktop"},
            "_multi": [{"Action": {"id": NAMES[index]}} for index in order],
        },
        "p": [SHARES[chosen]],
    } | more


@pytest.fixture
def log(tmp_path):
    rng = generator(3, "dsjson")
    lines = [json.dumps(event(rng, number)) for number in range(4_000)]
    lines.insert(5, json.dumps({"RewardValue": 1.0, "EventId": "of no decision"}))
    lines.insert(9, json.dumps(event(rng, 0, _skipLearn=True, _label_cost=-1.0)))
    path = tmp_path / "events.json"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_events_are_read_by_the_names_of_their_actions(log):
    table = read_dsjson(log)
    assert table.columns == ["action", "reward", "chance", "asked_at", "context_User.device"]
    assert table.height == 4_000
    assert set(table["action"]) == set(NAMES)
    for name, share, rate in zip(NAMES, SHARES, RATES, strict=True):
        own = table.filter(action=name)
        assert own["chance"].unique().to_list() == [share]
        assert own["reward"].mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / own.height) ** 0.5)


def test_what_another_action_would_have_earned(log, tmp_path):
    found = rankone.evaluate(log, {"action": "music"})
    low, value, high = found.table.filter(estimator="snips").select("low", "value", "high").row(0)
    error = (RATES[2] * (1 - RATES[2]) / (4_000 * SHARES[2])) ** 0.5
    assert value == pytest.approx(RATES[2], abs=4 * error)
    assert low < value < high
    packed = tmp_path / "events.json.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert rankone.evaluate(packed, {"action": "music"}).table.equals(found.table)


def test_actions_without_names_have_numbers_and_costs_beyond_a_click_are_refused(tmp_path):
    path = tmp_path / "events.dsjson"
    plain = {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 2, "c": {"_multi": [{"x": 1}, {"x": 2}]}}
    path.write_text(json.dumps(plain) + "\n")
    assert read_dsjson(path)["action"].to_list() == ["action 2"]
    path.write_text(json.dumps(plain | {"_label_cost": -7}) + "\n")
    with pytest.raises(InputError, match="outcomes from 0 to 1"):
        rankone.evaluate(path, {"action": "action 2"})


@pytest.mark.parametrize(
    "wrong", ['{"_label_cost": -1,', '{"_label_cost": "x", "_label_probability": 1, "_label_Action": 1}', "[1]"]
)
def test_lines_that_are_no_events_are_named(tmp_path, wrong):
    path = tmp_path / "events.dsjson"
    whole = {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1}
    path.write_text(f"{json.dumps(whole)}\n{wrong}\n")
    with pytest.raises(InputError, match="Line 2 is no event of dsjson: "):
        read_dsjson(path)


def test_other_logs_are_none_and_slates_are_refused(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"headline": "A"}\n')
    assert not is_dsjson(path)
    path.write_text('{"_label_cost": 0, "_outcomes": []}\n')
    assert is_dsjson(path)
    with pytest.raises(InputError, match="No event of a contextual bandit"):
        read_dsjson(path)


def test_the_open_bandit_dataset_is_valued_as_it_is(tmp_path):
    rng = generator(4, "obd")
    rows = ["timestamp,item_id,position,click,propensity_score,user_feature_0"]
    for number in range(4_000):
        item = int(rng.choice(3, p=SHARES))
        rows.append(f"2019-11-24 00:{number % 60:02}:00,{item},1,{int(rng.random() < RATES[item])},{SHARES[item]},x")
    path = tmp_path / "men.csv"
    path.write_text("\n".join(rows) + "\n")
    found = rankone.evaluate(path, {"item_id": "2"})
    error = (RATES[2] * (1 - RATES[2]) / (4_000 * SHARES[2])) ** 0.5
    assert found.table.filter(estimator="snips")["value"][0] == pytest.approx(RATES[2], abs=4 * error)
