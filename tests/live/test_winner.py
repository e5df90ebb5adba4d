"""Stopping on the winner, and the intervals of click rates."""

import math

import numpy as np
import pytest

import rankone
from rankone.live import Experiment
from rankone.live.journal.events import KIND, Kind
from rankone.live.report.rates import intervals
from tests.levels import col_of, row_of

from .helpers import Audience, start

CHECKPOINTS = np.unique(np.geomspace(4, 3000, 40).astype(np.int64))


def test_intervals_hold_at_all_times():
    """The true rate leaves the interval at any of 40 looks in at most 10% of runs (4 standard errors of room)."""
    runs, error, left = 400, 0.1, 0
    rng = np.random.default_rng(5)
    for run in range(runs):
        rate = (0.02, 0.3, 0.5, 0.97)[run % 4]
        clicks = np.cumsum(rng.random(CHECKPOINTS[-1]) < rate)[CHECKPOINTS - 1]
        low, high = intervals(CHECKPOINTS[None, :], clicks[None, :], error)
        left += bool(((rate < low) | (rate > high)).any())
    assert left <= error * runs + 4 * math.sqrt(runs * error * (1 - error))
    assert low.shape == (1, len(CHECKPOINTS))


def test_a_restart_does_not_change_when_it_stops(tmp_path):
    """Twins with the same visitors, one of them restarted again and again, stop at the same event."""
    ends = []
    for restarts in (False, True):
        path = tmp_path / f"{restarts}.db"
        experiment, audience = (
            start(path, "ucb1", stopping={"auto": True}),
            Audience(rows=(0.95, 0.3, 0.2), cols=(0.9, 0.3)),
        )
        while (report := experiment.report()).stopped is None:
            assert report.decisions < 5_000
            for decision in experiment.ask(count=7):
                experiment.tell(
                    decision, bool(audience.rng.random() < audience.means[row_of(decision), col_of(decision)])
                )
            if restarts:
                experiment.close()
                experiment = Experiment("homepage", db=path)
        kinds = [event[KIND] for event in experiment.database.transactions.storage.tail(1, 0, 100_000)]
        ends.append(kinds.index(Kind.STOP))
    assert ends[0] == ends[1]


def test_auto_stop_stops_on_the_right_pair_and_stays(sqlite_db):
    experiment = start(sqlite_db, "ucb1", stopping={"auto": True})
    audience = Audience()
    while (report := experiment.report()).stopped is None:
        assert report.decisions < 20_000
        for decision in experiment.ask(count=20):
            experiment.tell(
                decision.id, bool(audience.rng.random() < audience.means[row_of(decision), col_of(decision)])
            )
    assert report.decided
    assert "won" in report.stopped
    assert "the winner: " in report.headline
    assert (report.best["row"], report.best["col"]) == ("row 1", "col 1")
    assert {(row_of(decision), col_of(decision)) for decision in experiment.ask(count=50)} == {(0, 0)}


def test_the_report_says_what_is_so(sqlite_db):
    experiment = start(sqlite_db, "ucb1")
    assert experiment.report().headline.startswith("No outcomes yet")
    audience = Audience()
    for _ in range(600):
        audience.step(experiment)
    report = experiment.report()
    assert report.to_dict()["headline"] == report.headline
    assert " is ahead, not proven yet: " in report.headline or " wins: " in report.headline
    assert sum(line.share for line in report.factors[0].levels) == pytest.approx(1)
    assert sum(line.decisions for line in report.factors[1].levels) == report.decisions
    assert sum(line.clicks for line in report.factors[0].levels) == report.outcomes["clicked"]
    leader = next(line for line in report.factors[0].levels if line.name == report.best["row"])
    assert leader == report.leader
    assert leader.in_race
    assert (report.basis, report.leader.low, report.leader.high) == ("any", None, None)
    assert str(report).count("\n") >= 7
    assert rankone.as_policy(report.policy).name == "ucb1"
