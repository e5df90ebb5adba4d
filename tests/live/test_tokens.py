"""Who asked and who told at a service: stored with the events, and undone whatever source was named."""

import pytest

from rankone.errors import InputError
from rankone.live import Ask, Experiment, Tell, Void
from rankone.live.journal.events import Events
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table

from .helpers import Clock, at, error_of, saved, start


def told(experiment, asker, teller, clicked=True, source="page"):
    """Ask with one token and tell with another; return the decision."""
    ((decision,),) = experiment.do([Ask(source=source, token=asker)])
    (outcome,) = experiment.do([Tell(decision.id, clicked, source, token=teller)])
    assert not isinstance(outcome, Exception)
    return decision


def test_one_tokens_traffic_is_undone_whatever_source_it_named(db):
    """What it told, and what came of the decisions it asked for."""
    with start(db) as experiment:
        told(experiment, "good", "good")
        told(experiment, "bad", "bad", source="page")
        told(experiment, "bad", "good", source="mail")
        told(experiment, "good", "bad", source=None)
        told(experiment, None, None)
        assert experiment.exclude(token="nobody") == 0
        assert experiment.exclude(token="bad", source="mail") == 1
        assert experiment.exclude(token="bad") == 2
        told(experiment, "bad", "bad")  # what comes after is another matter
        assert experiment.report().outcomes["clicked"] == 3
        state = saved(experiment)
        table = decisions_table(experiment.database, "homepage")
    assert table["token"].to_list() == ["good", "bad", "bad", "good", None, "bad"]
    assert table["learned"].to_list() == [True, False, False, False, True, True]
    assert table["chance"].null_count() == 0
    assert ((table["chance"] > 0) & (table["chance"] <= 1)).all()
    with Experiment("homepage", db=db) as again:
        assert saved(again) == state
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_silence_and_what_is_held_are_undone_too(db):
    clock = Clock()
    with start(db, outcomes={"window": 600}, clock=clock) as experiment:
        experiment.do([Ask(2, token="bad"), Ask(token="good")])
        clock.pass_seconds(700)
        for asker, teller in (("bad", "good"), ("good", "bad"), ("good", "good")):
            told(experiment, asker, teller)
        assert experiment.report().outcomes["expired"] == 3
        assert experiment.exclude(token="bad") == 4  # two in silence, two held
        clock.pass_seconds(700)
        outcomes = experiment.report().outcomes
        assert (outcomes["expired"], outcomes["clicked"], outcomes["void"]) == (1, 1, 2)
        state = saved(experiment)
    with at(clock)("homepage", db=db) as again:
        assert saved(again) == state
    assert [finding for finding in examine(db) if not finding.ok] == []


def test_what_is_open_can_be_voided_by_token(db):
    clock = Clock()
    with start(db, clock=clock) as experiment:
        experiment.do(
            [Ask(3, source="page", token="bad"), Ask(2, source="mail", token="bad"), Ask(4, token="good"), Ask()]
        )
        clock.pass_seconds(60)
        assert experiment.void_open(60, token="bad", source="mail") == 2
        assert experiment.void_open(60, token="bad") == 3
        assert experiment.void_open(61, token="good") == 0
        assert experiment.report().outcomes["open"] == 5


def test_a_snapshot_remembers_who_asked_and_told(sqlite_db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 4)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with start(sqlite_db, outcomes={"window": 600}) as experiment:
        for asker, teller in (("bad", "good"), ("good", "bad"), ("good", None), (None, "good")):
            told(experiment, asker, teller)
        ((decision,),) = experiment.do([Ask(token="good")])
        experiment.do([Void(decision.id, token="bad")])
        state = saved(experiment)
        assert experiment.database.use(lambda storage: storage.snapshots(1))
    with Experiment("homepage", db=sqlite_db) as again:
        assert saved(again) == state
        assert again.exclude(token="bad") == 2
    assert [finding for finding in examine(sqlite_db) if not finding.ok] == []


@pytest.mark.parametrize("wrong", ["", "x" * 300, 5])
def test_a_token_that_makes_no_sense_is_refused(wrong, sqlite_db):
    experiment = start(sqlite_db)
    (answer,) = experiment.do([Ask(token=wrong)])
    assert isinstance(answer, InputError)
    assert isinstance(error_of(experiment.void_open, 60, token=wrong), InputError)
    assert isinstance(error_of(experiment.exclude, token=wrong), InputError)


def test_outcomes_of_one_caller_share_one_record(sqlite_db, monkeypatch):
    """Thousands of them a second need not each make one that says the same."""
    groups, rows = [], Events.rows
    monkeypatch.setattr(Events, "rows", lambda self, chain: groups.append(self.texts) or rows(self, chain))
    with start(sqlite_db, n_rows=1, n_cols=1) as experiment:
        (decisions,) = experiment.do([Ask(4)])
        names = [("page", "a token"), ("page", "a token"), ("page", None), (None, None)]
        experiment.do([Tell(each.id, True, *name) for each, name in zip(decisions, names, strict=True)])
    told = groups[-1]
    assert [(texts.source, texts.token) for texts in told] == names
    assert told[0] is told[1]
