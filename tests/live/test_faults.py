"""Faults in what is stated never stop decisions: they are noted, said in the report, and history is repeated exactly."""

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.live import Database, Experiment
from rankone.live.commit import transactions
from rankone.live.evidence import weighed_outcomes
from rankone.live.evidence.experiment_evidence import ExperimentEvidence
from rankone.live.fold import fold
from rankone.live.journal.events import Kind, of_rows
from rankone.live.operate.archive import archive
from rankone.numerics.seeds import generator
from tests.levels import row_of

from .helpers import error_of, pairs, saved, start
from .visits import live, visit


def test_a_probability_that_rounding_puts_above_1_is_1():
    """A site that doubles: at visitor 1,400 the probability of a decision sums up to 1.0000000000000002."""
    rng, rates = np.random.default_rng(10_028), (0.4, 0.8)
    with Experiment("doubled", ["A", "B"], ["v", "w"], policy="uts", explore=0, db=None, seed=28) as experiment:
        for at in range(0, 1_450, 50):
            asked = experiment.ask(50)
            experiment.tell_many([(made, bool(rng.random() < rates[at >= 750])) for made in asked])
        assert experiment.report().faults == 0


@pytest.fixture
def told_nonsense(monkeypatch):
    """Every third decision of a batch has probabilities that are none; read again, they are none again."""
    advance = fold.Fold._advance_by

    def nonsense(self, stretch):
        known = stretch.shown[:, 0] >= 0
        passed = advance(self, stretch)
        stretch.crosses[known | (np.arange(len(known)) % 3 == 0)] = np.nan
        return passed

    monkeypatch.setattr(fold.Fold, "_advance_by", nonsense)


def test_probabilities_that_are_none_are_noted_and_no_statement_rests_on_them(sqlite_db, told_nonsense):
    rng = generator(1, "clicks")
    with start(sqlite_db, "uts", explore=0.5) as experiment:
        for _ in range(10):
            asked = experiment.ask(9)
            experiment.tell_many([(made, bool(rng.random() < 0.5)) for made in asked])
        report, before = experiment.report(), saved(experiment)
    assert report.faults == 30
    assert "The policy gave impossible probabilities for 30 decisions; no statement rests on them." in report.warnings
    with start(sqlite_db, "uts") as again:
        assert saved(again) == before
        assert again.look(lambda now: now.evidence.compared) == 60
        again.ask(3)
        assert again.report().faults == 31


def test_what_was_ignored_is_no_fault_and_both_may_be_of_one_decision(sqlite_db, told_nonsense):
    """Each batch of three has one decision without probabilities; the device of all of them is not declared."""
    with start(sqlite_db, "uts", explore=0.5, context={"device": ["phone"]}) as experiment:
        for _ in range(5):
            experiment.ask(3, context={"device": "fridge"})
        report, before = experiment.report(), saved(experiment)
        assert report.faults == 5
        assert report.segments.ignored == {"device": 15}
    with start(sqlite_db, "uts") as again:
        assert saved(again) == before
        rows = again.database.use(lambda storage: storage.tail(1, 0, 100))
    notes = [set(texts.details()) for texts in of_rows(rows).texts[1:]]
    assert notes == [{"ignored", "fault"}, {"ignored"}, {"ignored"}] * 5


def test_a_segment_that_is_not_declared_is_no_fault():
    with live(policy="uts", context={"device": ["phone"]}) as experiment:
        experiment.ask(5, context={"device": "fridge"})
        assert experiment.report().faults == 0


def no_numbers(evidence, *others, size):
    evidence.logs[:] = evidence.now[:] = np.nan


def refuses(*given, **keywords):
    raise ZeroDivisionError("division by zero")


def break_weighing(monkeypatch, fault=refuses):
    real, weigh = weighed_outcomes.tiered, weighed_outcomes.weigh
    monkeypatch.setattr(weighed_outcomes, "tiered", lambda *what: fault if what[0] is weigh else real(*what))


@pytest.mark.parametrize("fault", [refuses, no_numbers])
def test_where_outcomes_cannot_be_weighed_decisions_go_on_and_nothing_is_stated(sqlite_db, monkeypatch, fault):
    with start(sqlite_db, "uts", explore=0.5, stopping={"auto": True}) as experiment:
        visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 50)
        with monkeypatch.context() as broken:
            break_weighing(broken, fault)
            report = visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 500, seed=1)[-1]
            decisions = pairs(experiment.ask(20))
    assert len(decisions) == 20
    assert not report.decided
    assert report.stopped is None
    assert report.confidence == 0.0
    assert all(level.in_race for level in report.factors[0].levels + report.factors[1].levels)
    assert report.visitors_left is None
    assert report.warnings[0].startswith(f"A fault in the program: {report.fault}.")
    with start(sqlite_db, "uts") as mended:  # without the fault the whole journal is weighed again
        assert mended.report().fault is None
        assert mended.report().decided


def test_a_fault_is_in_nothing_that_outlasts_it(sqlite_db, monkeypatch, tmp_path):
    """Neither in a snapshot, of whatever made one, nor in what a journal begins with after an archive."""
    monkeypatch.setattr(transactions, "_SNAPSHOT_EVERY", 1)
    monkeypatch.setattr(transactions, "_BYTES_PER_EVENT", 10**6)

    def mended():
        with Database(sqlite_db) as database:
            return Experiment("homepage", db=database).report()

    def move():
        return list(archive(experiment.database, "homepage", tmp_path, 0))

    with start(sqlite_db, "uts", explore=0.5, watch={"change": "ignore", "interaction": "ignore"}) as experiment:
        visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 300)
        move()
        with monkeypatch.context() as broken:
            break_weighing(broken)
            experiment.tell(experiment.ask(), True, source="web")
            broken.undo()
            assert mended().fault is None
            break_weighing(broken)
            assert experiment.exclude(source="web") == 1
            experiment.tell(experiment.ask(), True)
            with pytest.raises(InputError, match="evidence that can be weighed, but got a fault in the program"):
                move()
        assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert mended().fault is None
    with start(sqlite_db, "uts") as experiment:
        assert experiment.report().decided
        move()
        assert experiment.report().fault is None


def test_a_look_that_fails_is_noted_in_the_journal_until_one_succeeds(sqlite_db, monkeypatch):
    with start(sqlite_db, "uts", explore=0.5, stopping={"auto": True}) as experiment, monkeypatch.context() as broken:
        broken.setattr(ExperimentEvidence, "steering_note", refuses)
        visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 200)
        report, before = experiment.report(), saved(experiment)
        assert error_of(experiment.stop).got == "a fault in the program"
    assert report.fault == "ZeroDivisionError: division by zero"
    assert not report.decided
    assert not report.leads
    assert report.headline.startswith("No result because of a fault in the program: ")
    with start(sqlite_db, "uts") as again:
        assert saved(again) == before
        assert again.look(lambda now: now.tallies[Kind.STEER]) == 1  # told once
        assert again.report().fault == report.fault
        last = visit(again, [0.9, 0.1, 0.1], [0.9, 0.1], 500, seed=1)[-1]
        assert last.fault is None
        assert last.decided


def test_a_fault_leaves_nothing_proven_of_segments():
    rng = np.random.default_rng(1)
    with live(["A", "B"], ["x"]) as experiment:
        for _ in range(10):
            asked = experiment.ask(30, context={"device": "phone"})
            experiment.tell_many([(one, bool(rng.random() < (0.9, 0.1)[row_of(one)])) for one in asked])
        before = experiment.report().segments
        experiment.look(lambda fold: setattr(fold.evidence, "noted", "ZeroDivisionError: division by zero"))
        after = experiment.report()
    assert (before.answer, before.segments[0].proven) == ("same", {"row": "A", "col": "x"})
    (phone,) = after.segments.segments
    assert (after.segments.answer, phone.best, phone.proven, phone.beats) == ("unknown", {}, {}, ())
    assert "Cannot compare segments: a fault in the program." in after.segments_sentence


def test_an_alarm_that_cannot_be_looked_for_stops_nothing(monkeypatch):
    with live(explore=0, policy="uts") as experiment, monkeypatch.context() as broken:
        broken.setattr(transactions, "alarm_note", refuses)
        assert visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 100)[-1].fault == "ZeroDivisionError: division by zero"
        broken.undo()
        assert visit(experiment, [0.9, 0.1, 0.1], [0.9, 0.1], 100, seed=1)[-1].fault is None
