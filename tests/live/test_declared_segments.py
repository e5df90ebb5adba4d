"""Attributes of visitors that are declared: what else is said is ignored or refused, and nobody can spoil them."""

import dataclasses

import numpy as np
import pytest

from rankone.errors import KeyReused
from rankone.live import Ask, Experiment
from rankone.live.fold.journal_reading import replay
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table

from .helpers import error_of, known, saved, start
from .test_segments import PHONE, visit

DECLARED = {"device": ["phone", "desk"], "country": None}


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ("device", "context as a dictionary of attributes and what each may be, but got device"),
        ({}, "context of 1 to 16 attributes, but got 0"),
        ({"device": "phone"}, "the levels of 'device' as a list, None for any, bool, float or a range, but got phone"),
        ({"device": []}, "1 to 256 levels of 'device', but got 0"),
        ({"number": range(10**6)}, "1 to 256 levels of 'number', but got 1000000"),
        ({"device": ["phone", "phone"]}, "levels of 'device' with different names, but got phone, phone"),
        ({"age": [0.5]}, "levels of 'age' as text, but got 0.5. Declare a range: (0, 1)"),
        ({"\n": None}, "the name of an attribute as printable text"),
        ({3: None}, "attributes with names, but got 3"),
    ],
)
def test_what_declares_no_attributes_is_refused_in_a_sentence(context, sentence, sqlite_db):
    assert sentence in str(error_of(start, sqlite_db, "uts", context=context))
    with start(sqlite_db, "uts") as experiment:
        assert sentence in str(error_of(experiment.declare_context, context))


def test_declared_attributes_count_and_the_rest_is_ignored_or_refused(sqlite_db):
    with start(sqlite_db, "uts", context=DECLARED) as experiment:
        assert experiment.report().segments is None
        experiment.ask(context=PHONE)
        experiment.ask(context={"device": "desk"})  # what is not said is not known
        experiment.ask(context={"device": "fridge", "country": "DE"})  # nor is what nobody expected
        experiment.ask()
        assert "got device, evil" in str(error_of(experiment.ask, context={"device": "phone", "evil": 1}))
        experiment.do([Ask(3, context={"device": "phone", "evil": 1}, undeclared="ignore")])
        experiment.do([Ask(context={"evil": 1}, undeclared="ignore")])
        found = experiment.report().segments
        assert {each.name: each.decisions for each in found.segments} == {
            "DE, phone": 1,
            "unknown, desk": 1,
            "DE, unknown": 1,
            "unknown, phone": 3,
        }
        assert found.unsaid[0] == 2
        assert found.ignored == {"device": 1, "": 4}
        said = "Ignored, not declared: other attributes (4 visitors), other levels of device (1 visitor)."
        assert said in experiment.report().segments_sentence
        before = saved(experiment)
    with Experiment("homepage", db=sqlite_db, context=DECLARED) as experiment:
        assert saved(experiment) == before
    other = error_of(Experiment, "homepage", db=sqlite_db, context={"device": None})
    assert "context country (any level), device (phone, desk), with which experiment 'homepage' runs" in str(other)


def test_who_may_not_settle_attributes_declares_nothing(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        (refused, ignored) = experiment.do(
            [Ask(context={"evil": 1}, undeclared="refuse"), Ask(context={"evil": 1}, undeclared="ignore")]
        )
        assert "an experiment whose attributes of visitors are declared, but got none. Declare them once" in str(
            refused
        )
        assert len(ignored) == 1
        report = experiment.report()
        assert report.segments.ignored == {"": 1}
        assert "No data on segments yet. Ignored, not declared: " in str(report)
        assert decisions_table(experiment.database, "homepage")["id"].len() == 1
        experiment.ask(context=PHONE)  # settles them
        assert experiment.report().segments.attributes == ("country", "device")
        assert experiment.report().segments.unsaid[0] == 1


def test_a_key_is_of_the_segment_that_was_said_whatever_counts_of_it(sqlite_db):
    """A retry gets the same decision after other segments were declared, and other words are another request."""
    fridge, toaster = ({"device": device, "country": "DE"} for device in ("fridge", "toaster"))
    with start(sqlite_db, "uts", context={"country": None}) as experiment:

        def ask(segment, key="k", undeclared="ignore"):
            return experiment.do([Ask(key=key, context=segment, undeclared=undeclared)])[0]

        first = ask(fridge)
        assert ask(fridge) == first
        assert isinstance(ask(toaster), KeyReused)
        assert isinstance(ask({"country": "DE"}), KeyReused)
        together = experiment.do(
            [Ask(key="in one commit", context=each, undeclared="ignore") for each in (fridge, toaster)]
        )
        assert isinstance(together[1], KeyReused)
        experiment.declare_context({"device": ["phone"]})
        assert ask(fridge) == first
        assert ask(fridge, undeclared="refuse") == first  # it was accepted then
        assert "device, as this experiment has them" in str(ask(fridge, "new", undeclared="refuse"))
        assert 'context {"country":"DE","device":"fridge"}' in str(ask(toaster))
        assert ask(fridge, "other")[0].number == 2
        before = saved(experiment)
    with start(sqlite_db, "uts") as again:
        assert saved(again) == before
        assert again.do([Ask(key="k", context=fridge, undeclared="refuse")]) == [first]
        assert again.report().segments.ignored == {"": 3, "device": 1}


def test_declaring_segments_later_repairs_what_was_invented(db):
    with start(db, "segmented-uts") as experiment:
        experiment.tell(experiment.ask(), True)
        evil = experiment.do([Ask(context={"evil": number}) for number in range(70)])
        serve_all = [(decisions[0], True) for decisions in evil[:40]]
        experiment.tell_many(serve_all)
        assert "as this experiment has them" in str(error_of(experiment.ask, context=PHONE))
        experiment.declare_context(DECLARED)
        assert experiment.changes()[-1].what == "context declared: country (any level), device (phone, desk)"
        assert "No action needed" in str(error_of(experiment.declare_context, DECLARED))
        late = experiment.tell(evil[50][0], True)  # asked before
        assert late.learned
        visit(experiment, 60)
        found = experiment.report().segments
        assert [each.name for each in found.segments] == ["DE, phone", "DE, desk"]
        assert [each.decisions for each in found.segments] == [20, 20]
        assert found.others == (70, 41, 41)
        assert found.unsaid[0] == 21
        before, number = saved(experiment), experiment._cached.number
        assert known(replay(experiment.database.transactions.storage, number)) == before
        assert set(decisions_table(experiment.database, "homepage").columns) >= {"context_country", "context_device"}
        experiment.declare_context({**DECLARED, "country": ["DE"]})  # all fit: nothing is lost, nothing proven anew
        assert [each.decisions for each in experiment.report().segments.segments] == [20, 20]
        experiment.declare_context({"device": ["phone"]})
        after = experiment.report().segments
        assert (after.segments, after.others[0]) == ((), 110)
        assert after.unsaid == experiment.report().segments.unsaid
    with Experiment("homepage", db=db) as experiment:
        assert experiment.report().segments == after
        assert all(finding.ok for finding in examine(db))


def test_open_decisions_keep_their_segment_when_others_go(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        experiment.ask(context={"device": "robot"})
        waiting = experiment.ask(context={"device": "phone"})
        experiment.declare_context({"device": ["phone", "desk"]})
        experiment.tell(waiting, True)
        (phone,) = experiment.report().segments.segments
        assert (phone.name, phone.decisions, phone.outcomes, phone.clicks) == ("phone", 1, 1, 1)
        assert experiment.report().segments.others == (1, 0, 0)


def test_a_visitor_gets_the_same_until_there_is_something_new_to_choose_from(sqlite_db):
    with start(sqlite_db, "uts") as experiment:
        first = experiment.ask(visitor="ann")
        again, twice = (experiment.ask(visitor="ann", context=said) for said in (PHONE, None))
        assert again == twice == dataclasses.replace(first, id=again.id)
        assert "the id of the first answer" in str(error_of(experiment.void, again))
        assert experiment.tell(again, True).learned
        assert experiment.tell(first, True).repeated
        asked, promised = experiment.do([Ask(visitor="bob"), Ask(visitor="bob")])  # in one commit
        assert promised[0] == dataclasses.replace(asked[0], id=promised[0].id)
        assert promised[0].id != asked[0].id
        assert experiment.void(asked[0]).status == "void"
        assert "not clicked" in str(error_of(experiment.tell, promised[0], False))  # void, and that stays
        experiment.add_level("row", "new")
        assert experiment.ask(visitor="ann").number > first.number
        assert "a key or a visitor" in str(error_of(experiment.ask, key="k", visitor="ann"))
        assert "one decision for a visitor" in str(error_of(experiment.ask, 2, visitor="ann"))


def test_where_evidence_begins_anew_no_segment_is_given_what_leads_overall():
    rng, either = np.random.default_rng(0), {"phone": {"A": 0.4, "B": 0.2}, "desktop": {"A": 0.2, "B": 0.4}}
    with Experiment("s", ["A", "B"], ["u", "v"], context={"device": list(either)}, db=None, seed=1) as experiment:
        for device in [*either] * 10:
            decisions = experiment.ask(50, context={"device": device})
            clicked = [(each, bool(rng.random() < either[device][each["row"]])) for each in decisions]
            experiment.tell_many(clicked)
        assert [each.best["row"] for each in experiment.report().segments.segments] == ["A", "B"]
        experiment.declare_context({"device": ["phone", "tablet"]})
        (phone,) = experiment.report().segments.segments
        assert (phone.name, phone.outcomes, phone.best) == ("phone", 500, {})
