"""Visitors with attributes of any kind: declared, asked for, kept, learned from, and picked up again bit for bit."""

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.live import Ask, Experiment
from rankone.live.fold.journal_reading import replay
from rankone.live.operate.export import decisions_table
from rankone.live.visitor_attributes import checked_context, checked_declaration, features_of
from rankone.numerics.seeds import generator

from .helpers import error_of, known, saved, start

CONTEXT = {"device": ["phone", "desk"], "returning": bool, "age": (0, 100), "spent": float, "os": None}
FACTORS = {"headline": ["A", "B", "C"], "image": ["1", "2"]}


def open_one(db, **settings):
    return Experiment(
        "shop",
        factors=FACTORS,
        db=db,
        **{"context": CONTEXT, "policy": "logit-ts", "aim": "both", "seed": 3} | settings,
    )


def visitor(rng):
    """A visitor, of whom not everything is known."""
    said = {"device": ["phone", "desk"][int(rng.random() * 2)], "age": float(rng.integers(0, 101)), "os": "x"}
    said |= {"returning": bool(rng.random() < 0.5), "spent": 1000.0 * rng.random()} if rng.random() < 0.7 else {}
    return said


def visit(experiment, count, seed=0):
    """Let visitors come whose taste depends on their device; some outcomes come late, some never, some are void."""
    rng, waiting = generator(seed, "visitors"), []
    for _ in range(count):
        said = visitor(rng) if rng.random() < 0.9 else None
        waiting.append((experiment.ask(context=said), said))
        if len(waiting) > 8:
            made, said = waiting.pop(int(rng.random() * len(waiting)))
            liked = (made["headline"] == "A") == (said is not None and said["device"] == "phone")
            if rng.random() < 0.05:
                experiment.void(made)
            elif rng.random() < 0.95:
                experiment.tell(made, bool(rng.random() < (0.6 if liked else 0.2)))


def test_journal_and_snapshots_give_the_same_bits(db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 150)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with open_one(db) as experiment:
        visit(experiment, 300)
        before, number = saved(experiment), experiment._cached.number
        assert known(replay(experiment.database.transactions.storage, number)) == before
    with open_one(db) as experiment:  # the same settings, from a snapshot
        assert saved(experiment) == before
        experiment.add_level("headline", "D")
        visit(experiment, 60, seed=1)
        experiment.retire_level("headline", "B")
        experiment.add_factor("button", ["buy", "try"])
        visit(experiment, 60, seed=2)
        after = saved(experiment)
        assert known(replay(experiment.database.transactions.storage, number)) == after
    with Experiment("shop", db=db) as experiment:
        assert saved(experiment) == after
        assert {"context_age", "context_os"} <= set(decisions_table(experiment.database, "shop").columns)


def test_an_era_starts_on_all_that_is_known_of_each_kind_of_visitor():
    with open_one(None) as experiment:
        visit(experiment, 400)
        before = experiment.look(lambda fold: fold.state)
        table = experiment.look(lambda fold: (fold.pulls.copy(), fold.clicks.copy()))
        experiment.add_level("headline", "D")
        after = experiment.look(lambda fold: fold.state)
        d = len(before.visitor)
        cells = after.cells[after.cells[:, -2] > 0]
        assert cells[:, -2].sum() == table[0].sum()
        assert cells[:, -1].sum() == table[1].sum()
        kept = np.delete(after.mean[0].reshape(d, -1), 4, axis=1)  # without the new level
        scale = np.sqrt(np.diag(np.linalg.inv(before.root[0].T @ before.root[0]))).reshape(kept.shape)
        assert np.abs((kept - before.mean[0].reshape(kept.shape)) / scale).max() < 1.0  # learned in another order


def test_what_is_shown_depends_on_the_visitor():
    with open_one(None, aim="earn") as experiment:
        visit(experiment, 1500)
        for device, best in (("phone", "A"), ("desk", "not A")):
            shown = [each["headline"] for each in experiment.ask(100, context={"device": device})]
            assert (np.mean([name == "A" for name in shown]) > 0.7) == (best == "A"), device


def test_only_what_is_declared_is_kept_and_numbers_in_steps():
    with open_one(None) as experiment:
        experiment.do(
            [Ask(context={"device": "phone", "age": 33.3, "email": "a@b", "spent": 1234}, undeclared="ignore")]
        )
        table = decisions_table(experiment.database, "shop")
        row = {name: table[name][0] for name in table.columns if name.startswith("context_")}
        assert row == {
            "context_age": "35",
            "context_device": "phone",
            "context_os": "unknown",
            "context_returning": "unknown",
            "context_spent": "1200",
        }
        assert "a@b" not in str(table.to_dicts())


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"device": "phone", "evil": 1}, "context with age, device, os, returning, spent, as this experiment has them"),
        ({"age": float("nan")}, "got nan. Leave it out where it is not known"),
        ({"age": float("inf")}, "got inf"),
        ({"age": "old"}, "'age' as a number, but got old"),
        ({"age": True}, "'age' as a number, but got true"),
        ({"returning": "maybe"}, "'returning' as true or false, but got maybe"),
        ({"returning": 0.5}, "'returning' as true or false, but got 0.5"),
        ({"device": 0.5}, "the level of 'device' as text or a whole number, but got 0.5"),
    ],
)
def test_bad_context_is_refused_and_loses_nothing(context, sentence):
    with open_one(None) as experiment:
        decision = experiment.ask(context={"device": "phone"})
        assert sentence in str(error_of(experiment.ask, context=context))
        refused, made = experiment.do([Ask(context=context), Ask(context={"age": 3})])
        assert isinstance(refused, InputError)
        assert len(made) == 1
        assert experiment.tell(decision, True).learned


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"age": (90, 18)}, "the range of 'age' from a number to a larger one, but got 90 to 18"),
        ({"age": (0, float("inf"))}, "from a number to a larger one"),
        ({"device": [str(number) for number in range(10**6)]}, "1 to 256 levels of 'device', but got 1000000"),
        ({"device": int}, "as a list, None for any, bool, float or a range"),
        ({"os": None}, "attributes of visitors that make features, but got none, and the policy is logit-ts"),
        ({f"f{number}": [str(level) for level in range(100)] for number in range(5)}, "at most 2,000 effects"),
    ],
)
def test_bad_declarations_are_refused_before_anything_is_written(context, sentence):
    assert sentence in str(error_of(open_one, None, context=context))


def test_the_attributes_cannot_change_under_a_policy_that_learned_them(sqlite_db):
    with open_one(sqlite_db) as experiment:
        before = saved(experiment)
        refused = error_of(experiment.declare_context, {"age": ["young", "old"]})
        assert "the attributes with which logit-ts:features=5 began" in str(refused)
        assert saved(experiment) == before
    other = error_of(open_one, sqlite_db, context=CONTEXT | {"age": ["young"]})
    assert "context age (0..100), device (phone, desk)" in str(other)
    assert "attributes of visitors that make features, but got none" in str(error_of(open_one, None, context=None))
    assert "to stop automatically, or a policy" in str(error_of(open_one, None, stopping={"auto": True}))


def test_numbers_are_levels_in_segments_of_other_policies(sqlite_db):
    with start(sqlite_db, "uts", context={"age": (0, 100), "returning": bool}) as experiment:
        for age in (10, 47, 51, 100, 101):
            experiment.ask(context={"age": age, "returning": age > 50})
        names = {each.name: each.decisions for each in experiment.report().segments.segments}
        assert names == {"under 50, false": 2, "50 and over, true": 2, "unknown, true": 1}
        before = saved(experiment)
        experiment.declare_context({"age": (0, 100)})
        assert experiment.report().segments.others[0] == 5
    assert before


def test_features_are_zero_where_nothing_is_known():
    declared = checked_declaration(CONTEXT)
    assert features_of(None, declared) == (0.0,) * 5
    everything = checked_context({"age": "0", "device": "desk", "os": "x", "returning": "true", "spent": "-9"})
    assert features_of(everything.text, declared) == (-1.0, 0.0, 1.0, 0.5, -0.5)


def test_a_rate_that_nobody_can_tell_is_not_named():
    """With 2% of decisions exploring there is too little to say how often all visitors would click."""
    rng = generator(8, "few")
    with Experiment(
        "page", factors={"headline": ["A", "B"]}, db=None, seed=1, aim="earn", policy="logit-ts", context={"x": bool}
    ) as live:
        for _ in range(200):
            made = live.ask(context={"x": bool(rng.random() < 0.5)})
            live.tell(made, bool(rng.random() < 0.4))
        report = live.report()
    assert report.leads
    assert report.leader.rate is None
    assert "click rate not known yet" in report.headline
    assert "0%" not in report.headline
    assert repr(report)


@pytest.mark.parametrize("policy", ["logit-ts", "segmented-uts"])
def test_a_level_is_not_praised_for_the_visitors_it_was_shown_to(policy):
    """Phones like A, desktops B: each gets its own, so both are clicked by half; all visitors would click A by 0.3."""
    rng, rates = generator(7, "confounded"), {"phone": {"A": 0.5, "B": 0.1}, "desktop": {"A": 0.1, "B": 0.5}}
    context = {"device": ["phone", "desktop"]}
    with Experiment(
        "page", factors={"headline": ["A", "B"]}, db=None, seed=1, aim="both", policy=policy, context=context
    ) as live:
        for _ in range(3_000):
            device = ["phone", "desktop"][int(rng.random() * 2)]
            made = live.ask(context={"device": device})
            live.tell(made, bool(rng.random() < rates[device][made["headline"]]))
        report = live.report()
        explored = live.look(lambda fold: fold.explored.sum(axis=1))
    raw = report.outcomes["clicked"] / (report.decisions)
    assert raw > 0.37
    error = 4.0 * np.sqrt(0.3 * 0.7 / explored[0])
    for level in report.factors[0].levels:
        assert level.rate == pytest.approx(0.3, abs=1.5 * error), level.name
    assert report.even_clicks == pytest.approx(0.3 * report.decisions, abs=error * report.decisions)
