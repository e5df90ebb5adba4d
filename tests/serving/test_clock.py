"""Clocks that are set: the journal's time never runs backwards and never stands still."""

import time

import pytest

from rankone.serving import Database, Experiment
from rankone.serving.clock import Clock as MachineClock
from rankone.serving.doctor import examine
from rankone.serving.export import decisions_table
from rankone.serving.journal import AT, KIND, VALUE, Kind

from .helpers import Clock, saved, start

DAY = 86_400


def events(experiment):
    return experiment.database.transactions.storage.tail(1, 0, 10_000)


def notes(experiment):
    """How far ahead the journal was, in seconds, each time that was noted."""
    return [event[VALUE] / 1e6 for event in events(experiment) if event[KIND] == Kind.CLOCK]


def jumped(db, clock, **settings):
    """An experiment whose clock was a day ahead for a moment, in which something was asked."""
    experiment = start(db, clock=clock, **settings)
    clock.jump(DAY)
    experiment.ask()
    clock.jump(-DAY)
    return experiment


def test_windows_end_though_the_clock_was_set_back(db):
    clock = Clock()
    experiment = jumped(db, clock, window=600)
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
    experiment = jumped(sqlite_db, clock, window=600)
    for _ in range(20):
        clock.pass_seconds(100)
        experiment.tell(experiment.ask(), True)
    assert notes(experiment) == [DAY]
    report = experiment.report()
    assert report.clock_ahead == DAY
    said = "The journal is 1 day ahead of the machine's clock, which was set back; windows end by the journal's time."
    assert said in report.sentence
    for seconds, count in ((-5, 1), (-4, 1), (-2, 2), (-60, 3), (8, 3)):  # a change of more than 10 seconds is news
        clock.jump(seconds)
        experiment.ask()
        assert len(notes(experiment)) == count
    assert notes(experiment) == [DAY, DAY + 11, DAY + 71]
    clock.jump(2 * DAY)  # the clock overtakes the journal: they agree again
    experiment.ask()
    assert notes(experiment)[-1] == 0
    assert "ahead" not in experiment.report().sentence
    state = saved(experiment)
    assert len(decisions_table(experiment.database, "homepage")) == 27
    experiment.close()
    with Experiment("homepage", db=sqlite_db, clock=clock) as continued:
        assert saved(continued) == state
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_restart_goes_on_from_the_journal(sqlite_db):
    clock = Clock()
    jumped(sqlite_db, clock, window=600).close()
    with Experiment("homepage", db=sqlite_db, clock=clock) as restarted:
        restarted.ask()
        clock.pass_seconds(600)
        assert restarted.report().outcomes["expired"] == 2
        assert notes(restarted) == [DAY]


def test_machines_whose_clocks_disagree_do_not_fill_the_journal(sqlite_db):
    """One is an hour ahead: the other follows it at its own pace, and each says so once."""
    clocks = Clock(), Clock(1_000_000_000 + 3600 * 10**6)

    def pass_seconds(seconds):
        for clock in clocks:
            clock.pass_seconds(seconds)

    both = [start(Database(sqlite_db, "off"), clock=clock, window=600) for clock in clocks]
    for _ in range(30):
        for experiment in both:
            pass_seconds(1)
            experiment.ask()
    assert notes(both[0]) == [3599]  # it reads of the other a second after that wrote
    pass_seconds(601)
    assert both[0].report().outcomes["open"] == 0
    for experiment in both:
        experiment.database.close()


@pytest.mark.parametrize("change", ["stop", "add_row", "void_open"])
def test_rare_events_keep_the_same_time(change, sqlite_db):
    clock = Clock()
    experiment = jumped(sqlite_db, clock)
    before = events(experiment)[-1][AT]
    clock.pass_seconds(30)
    arguments = {"stop": ("row 1", "col 1"), "add_row": ("new",), "void_open": (30,)}
    getattr(experiment, change)(*arguments[change])
    assert events(experiment)[-1][AT] == before + 30_000_000


def test_the_machines_clocks():
    clock = MachineClock()
    steady, wall = clock.steady(), clock.wall()
    time.sleep(0.01)
    assert clock.steady() - steady >= 10_000
    assert abs(wall / 1e6 - time.time()) < 60
