"""Clocks that are set: the journal's time never runs backwards and never stands still."""

import time
from functools import partial

import pytest

from rankone.errors import StorageError
from rankone.live import Database
from rankone.live.journal.clock import Clock as MachineClock
from rankone.live.journal.events import AT, KIND, VALUE, Kind
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table

from .helpers import Clock, at, saved, start

DAY = 86_400


def events(experiment):
    return experiment.database.transactions.storage.tail(1, 0, 10_000)


def notes(experiment):
    """How far ahead the journal was, in seconds, each time that was noted; below zero: how far it jumped ahead."""
    return [event[VALUE] / 1e6 for event in events(experiment) if event[KIND] == Kind.CLOCK]


def fail(why):
    raise StorageError("a commit", why, "make room")


def jumped(db, clock, **settings):
    """An experiment whose clock was a day ahead for a moment, in which something was asked."""
    experiment = start(db, clock=clock, **settings)
    clock.jump(DAY)
    experiment.ask()
    clock.jump(-DAY)
    return experiment


def test_windows_end_though_the_clock_was_set_back(db):
    clock = Clock()
    experiment = jumped(db, clock, outcomes={"window": 600})
    experiment.ask()
    clock.pass_seconds(599)
    assert experiment.report().outcomes["open"] == 2
    clock.pass_seconds(1)
    assert experiment.report().outcomes["expired"] == 2
    times = [event[AT] for event in events(experiment)]
    assert times == sorted(times)
    experiment.close()


def test_a_clock_set_back_is_noted_and_said_once(sqlite_db):
    clock = Clock()
    experiment = jumped(sqlite_db, clock, outcomes={"window": 600})
    for _ in range(20):
        clock.pass_seconds(100)
        experiment.tell(experiment.ask(), True)
    assert notes(experiment) == [-DAY, DAY]
    report = experiment.report()
    assert (report.clock_ahead, report.clock_jumped) == (DAY, DAY)
    said = "The journal is 1 day ahead of its machine's clock. Windows end by the journal's time."
    assert said in report.warnings
    for seconds, count in ((-5, 2), (-4, 2), (-2, 3), (-60, 4), (8, 4)):  # a change of more than 10 seconds is news
        clock.jump(seconds)
        experiment.ask()
        assert len(notes(experiment)) == count
    assert notes(experiment) == [-DAY, DAY, DAY + 11, DAY + 71]
    clock.jump(DAY + 63)  # the clock catches up with the journal: they agree again
    experiment.ask()
    assert notes(experiment)[-1] == 0
    assert "The journal is" not in str(experiment.report())
    state = saved(experiment)
    assert len(decisions_table(experiment.database, "homepage")) == 27
    experiment.close()
    with at(clock)("homepage", db=sqlite_db) as continued:
        assert saved(continued) == state
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_restart_goes_on_from_the_journal(sqlite_db):
    clock = Clock()
    jumped(sqlite_db, clock, outcomes={"window": 600}).close()
    with at(clock)("homepage", db=sqlite_db) as restarted:
        restarted.ask()
        clock.pass_seconds(600)
        assert restarted.report().outcomes["expired"] == 2
        assert notes(restarted) == [-DAY, DAY]


def test_a_jump_ahead_is_noted_and_said_once(db):
    clock = Clock()
    experiment = start(db, clock=clock, outcomes={"window": 600})
    experiment.ask(count=3)
    clock.jump(DAY + 11)
    for _ in range(3):
        clock.pass_seconds(1)
        experiment.ask()
    assert notes(experiment) == [-DAY - 11]
    report = experiment.report()
    assert (report.outcomes["expired"], report.clock_ahead, report.clock_jumped) == (3, 0, DAY + 11)
    assert "The machine's clock jumped ahead by 1 day: windows that were open then ended early." in report.warnings
    state = saved(experiment)
    experiment.close()
    with at(clock)("homepage", db=db) as continued:
        assert saved(continued) == state


def test_a_jump_that_only_looks_and_changes_see_is_noted_later(sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, clock=clock)
    clock.jump(DAY)
    experiment.add_level("row", "new")
    experiment.report()
    experiment.ask()
    assert notes(experiment) == [-DAY]
    assert not experiment.report().warnings  # without windows it ends nothing


def test_quiet_times_and_small_steps_are_no_jump(sqlite_db):
    clock = Clock()
    experiment = start(sqlite_db, clock=clock, outcomes={"window": 600})
    for _ in range(20):
        clock.jump(1)
        experiment.ask()
    clock.pass_seconds(7 * DAY)
    experiment.ask()
    experiment.close()
    clock.pass_seconds(7 * DAY)
    with at(clock)("homepage", db=sqlite_db) as restarted:
        restarted.ask()
        assert notes(restarted) == []


@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_a_note_whose_commit_fails_is_written_with_the_next(seconds, sqlite_db, monkeypatch):
    clock = Clock()
    experiment = start(sqlite_db, clock=clock, outcomes={"window": 600})
    clock.jump(seconds)
    with monkeypatch.context() as failing:
        failing.setattr(experiment.database.transactions.storage, "commit", partial(fail, "disk full"))
        with pytest.raises(StorageError, match="disk full"):
            experiment.ask()
    assert notes(experiment) == []
    experiment.ask()
    assert notes(experiment) == [-seconds]


def test_machines_whose_clocks_disagree_do_not_fill_the_journal(sqlite_db):
    """One is an hour ahead: the other follows it at its own pace, and each says so once."""
    clocks = Clock(), Clock(1_000_000_000 + 3600 * 10**6)

    def pass_seconds(seconds):
        for clock in clocks:
            clock.pass_seconds(seconds)

    both = [start(Database(sqlite_db, durability="off"), clock=clock, outcomes={"window": 600}) for clock in clocks]
    for _ in range(30):
        for experiment in both:
            pass_seconds(1)
            experiment.ask()
    assert notes(both[0]) == [3599]  # it reads of the other a second after that wrote
    pass_seconds(601)
    assert both[0].report().outcomes["open"] == 0
    for experiment in both:
        experiment.database.close()


@pytest.mark.parametrize("change", ["stop", "add_level", "void_open"])
def test_rare_events_keep_the_same_time(change, sqlite_db):
    clock = Clock()
    experiment = jumped(sqlite_db, clock)
    before = events(experiment)[-1][AT]
    clock.pass_seconds(30)
    arguments = {"stop": ({"row": "row 1", "col": "col 1"},), "add_level": ("row", "new"), "void_open": (30,)}
    getattr(experiment, change)(*arguments[change])
    assert events(experiment)[-1][AT] == before + 30_000_000


def test_the_machines_clocks():
    clock = MachineClock()
    steady, wall = clock.steady(), clock.wall()
    time.sleep(0.01)
    assert clock.steady() - steady >= 10_000
    assert abs(wall / 1e6 - time.time()) < 60
