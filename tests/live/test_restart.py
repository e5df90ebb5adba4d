"""Restart = never stopped: same seed and same events give the same next decisions, bit for bit."""

import gc

import pytest

from rankone.live import Database, Experiment
from rankone.live.fold.journal_reading import begin, from_snapshot
from rankone.live.journal.events import read_groups
from rankone.live.operate.doctor import examine
from rankone.live.storage.sql import Storage

from .helpers import POLICIES, Audience, Clock, known, live_policy, pairs, saved, start


@pytest.mark.parametrize("name", POLICIES)
def test_cut_at_any_event_the_fold_is_the_state_that_was(name, sqlite_db):
    """Whatever was written last, the events up to there, read in one go, give the state of that moment."""
    clock = Clock()
    experiment = start(sqlite_db, live_policy(name), clock=clock)
    audience = Audience()
    states = {}
    for _ in range(200):
        clock.pass_seconds(1)
        audience.step(experiment)
        states[experiment.look(lambda fold: fold.seq)] = saved(experiment)
    storage = experiment.database.transactions.storage
    rows = storage.tail(1, 0, 10_000)
    events, _ = read_groups(rows, 0, b"")
    assert len(states) == 200
    for cut, state in states.items():
        fold = begin(storage, 1)
        fold.apply(events[:cut])
        fold.chain = rows[cut - 1][-1]
        assert known(fold) == state, f"cut at event {cut}"


@pytest.mark.parametrize("name", POLICIES)
def test_the_next_thousand_decisions_are_the_same(name, db):
    policy = live_policy(name)
    never_stopped = start(db, policy, name="twin a")
    cut = start(db, policy, name="twin b")
    audiences = Audience(seed=3), Audience(seed=3)
    for part in range(3):
        for _ in range(40):
            audiences[0].step(never_stopped)
        for _ in range(40):
            audiences[1].step(cut)
        cut.close()
        cut = Experiment("twin b", db=db)
        assert cut.look(lambda fold: fold.decisions) == never_stopped.look(lambda fold: fold.decisions), part
    assert pairs(never_stopped.ask(count=1000)) == pairs(cut.ask(count=1000))
    cut.close()
    never_stopped.close()


@pytest.mark.parametrize("name", POLICIES)
def test_a_snapshot_is_the_same_state(name, sqlite_db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 50)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    experiment = start(sqlite_db, live_policy(name), outcomes={"window": 100}, clock=(clock := Clock()))
    audience = Audience(silent=0.3, void=0.0)
    for _ in range(300):
        clock.pass_seconds(3)
        audience.step(experiment)
    database = Database(sqlite_db)
    assert len(database.transactions.storage.snapshots(1)) == 2
    restarted = Experiment("homepage", db=database)
    assert restarted.look(lambda fold: fold.seq) > restarted._cached.snapshot_seq > 0
    assert saved(restarted) == saved(experiment)
    database.transactions.storage.query("DELETE FROM rankone_snapshots")
    assert saved(Experiment("homepage", db=sqlite_db)) == saved(experiment)


def test_a_snapshot_of_another_program_is_set_aside(sqlite_db, monkeypatch):
    """One with other contents is not misread: the journal is read instead."""
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 20)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with monkeypatch.context() as older:
        older.setattr("rankone.live.fold.snapshot.LAYOUT", 2)
        experiment = start(sqlite_db)
        audience = Audience()
        for _ in range(60):
            audience.step(experiment)
        storage = experiment.database.transactions.storage
        ((seq, body),) = storage.snapshots(1)[:1]
        assert from_snapshot(storage, 1, seq, body) is not None
    assert from_snapshot(storage, 1, seq, body) is None
    found = {finding.verdict: finding.detail for finding in examine(sqlite_db) if finding.check.startswith("snapshot")}
    assert list(found) == ["left out"]  # it is sound, so doctor finds nothing wrong
    assert found["left out"].startswith("made by another version of rankone")
    assert saved(Experiment("homepage", db=sqlite_db)) == saved(experiment)


def test_processes_that_take_turns_act_as_one(db):
    policy = "rank1elim-kl:horizon=300"
    alone = start(db, policy, name="alone")
    turns = [start(db, policy, name="shared")] + [Experiment("shared", db=db) for _ in range(2)]
    audiences = Audience(seed=5), Audience(seed=5)
    for step in range(200):
        audiences[0].step(alone)
        audiences[1].step(turns[step % 3])
    assert pairs(alone.ask(count=100)) == pairs(turns[0].ask(count=100))
    for experiment in (alone, *turns):
        experiment.close()


def test_reading_a_journal_leaves_the_search_for_cycles_as_it_was(sqlite_db):
    start(sqlite_db).close()
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            Experiment("homepage", db=sqlite_db).close()
            assert gc.isenabled() is enabled
        finally:
            gc.enable()


def test_an_interruption_while_a_snapshot_is_kept_leaves_no_lock_behind(db, monkeypatch):
    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 2)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**6)
    with start(db) as experiment, Database(db, patience=1) as other:
        with monkeypatch.context() as patch:
            patch.setattr(Storage, "keep_snapshot", interrupted)
            with pytest.raises(KeyboardInterrupt):
                experiment.ask(count=5)
        assert Experiment("homepage", db=other).ask().number == 5
        assert experiment.ask().number == 6
