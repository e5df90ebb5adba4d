"""Alarms in live experiments: an era begins, the report says when and why, and a restart of the program repeats it."""

import json

import numpy as np
import pytest

from rankone.errors import InputError
from rankone.evidence.steering import EXPLORE
from rankone.evidence.trials import TRIAL
from rankone.live import Experiment
from rankone.live.commit.alarms import alarm_note
from rankone.live.evidence.experiment_evidence import PROBES
from rankone.live.operate.doctor import examine
from rankone.live.report.report import Report
from rankone.numerics.seeds import generator
from tests.levels import col_of, row_of

from .helpers import Clock, at, saved

BEFORE = np.outer([0.9, 0.3, 0.4], [0.8, 0.8])
AFTER = np.outer([0.3, 0.3, 0.9], [0.8, 0.8])
EXCEPTION = np.array([[0.7, 0.5], [0.3, 0.2], [0.35, 0.95]])


def live(db=None, name="homepage", clock=None, **settings):
    given = {"policy": "uniform", "seed": 5, "durability": "off"} | settings
    return at(clock or Clock())(name, ["A", "B", "C"], ["1", "2"], db=db, **given)


def send(experiment, table, visitors, seed=0):
    rng = generator(seed, "visitors")
    for _ in range(0, visitors, 50):
        told = [(one, bool(rng.random() < table[row_of(one), col_of(one)])) for one in experiment.ask(50)]
        experiment.tell_many(told)
    return experiment.report()


def test_a_change_begins_the_experiment_anew():
    with live(watch={"change": "restart"}) as experiment:
        assert send(experiment, BEFORE, 1_000).best["row"] == "A"
        report = send(experiment, AFTER, 1_500, seed=1)
        assert [(alarm.what, alarm.did) for alarm in report.alarms] == [("change", "restart")]
        (alarm,) = report.alarms
        assert alarm.led["row"] == "A"
        assert 1_000 < alarm.decisions < 2_500
        assert alarm.factor == "row"
        assert {alarm.first, alarm.second} & {"A"}
        assert {alarm.first, alarm.second} & {"C"}
        assert report.best["row"] == "C"
        assert report.decisions == 2_500
        assert sum(row.outcomes for row in report.factors[0].levels) == 2_500 - alarm.outcomes
        assert sum(row.earlier_outcomes for row in report.factors[0].levels) == alarm.outcomes
        assert sum(row.clicks + row.earlier_clicks for row in report.factors[0].levels) == report.outcomes["clicked"]
        assert len(report.eras) == 2
        assert report.eras[1].startswith("alarm: clicks of row")
        assert report.warnings[0].startswith("Alarm, 1 January 1970: clicks changed (row ")
        assert report.warnings[0].endswith(" Learning restarted; results count from then.")
        assert "Alarm of 01 January 1970, 00:16 UTC: " in report.details
        assert "Until then 'A' with '" in report.details
        assert alarm.beside is None  # compared whatever was beside, so the product is named
        assert "The chance of any false alarm of a kind over the experiment's life is at most 5%" in report.details
        assert "a level changes clicks by the same factor whatever it is shown with, at all times" in report.details
        assert Report.of_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_what_looks_like_a_change_is_tried_before_it_rings():
    """After a verdict hardly anything but the winner is shown; when its clicks fall, decisions explore again."""
    before, after = BEFORE * [1.0, 0.5], AFTER * [1.0, 0.5]
    with live(policy="uts", aim="both", watch={"change": "restart"}) as experiment:
        assert send(experiment, before, 3_000).decided
        explored = []
        for part in range(40):
            explored.append(experiment.look(lambda fold: float(fold.evidence.steering.shares[EXPLORE])))
            if send(experiment, after, 50, seed=part).alarms:
                break
        assert explored[0] == PROBES
        assert max(explored) == TRIAL
        assert [alarm.did for alarm in experiment.report().alarms] == ["restart"]
        assert send(experiment, after, 500, seed=100).best["row"] == "C"


def test_a_change_that_is_only_told():
    with live(watch={"change": "warn"}) as experiment:
        send(experiment, BEFORE, 1_000)
        report = send(experiment, AFTER, 1_500, seed=1)
        assert [alarm.did for alarm in report.alarms] == ["warn"]
        assert sum(row.outcomes for row in report.factors[0].levels) == 2_500
        assert report.factors[0].levels[0].earlier_outcomes == 0
        assert "Results mix both periods and may be wrong." in report.warnings[0]


def test_an_alarm_that_is_only_told_changes_nothing_of_how_decisions_are_drawn():
    def drawn(fold):
        return fold.evidence.steering.shares.tolist(), fold.evidence.steering.mix.tolist()

    with live(aim="both") as experiment:
        send(experiment, BEFORE, 1_000)
        even = [1 / 3] * 3 + [1 / 2] * 2
        for part in range(30):
            before = experiment.look(drawn)
            if send(experiment, AFTER, 50, seed=part).alarms:
                break
        after = experiment.look(drawn)
        assert experiment.report().alarms
        assert after[1] != even
        assert np.abs(np.subtract(after[1], before[1])).max() < 0.3
        assert after[0] == before[0]


def test_proofs_that_levels_beat_each_other_ring_in_products_only():
    with live() as experiment:
        send(experiment, BEFORE, 200)

        def note(fold):
            fold.evidence.in_time.proof[0, 1] = fold.evidence.in_time.proof[1, 0] = 1_000.0
            return alarm_note(fold)

        assert "changed" in experiment.look(note)
        experiment.look(lambda fold: fold.alarms.append({"what": "misfit", "did": "warn"}))
        assert experiment.look(note) is None


def test_what_rang_stops_no_experiment_on_a_winner_of_two_worlds():
    wide = BEFORE * [1.0, 0.5]
    with live(watch={"change": "warn"}, stopping={"margin": 0.0}) as experiment:
        send(experiment, BEFORE, 1_000)
        send(experiment, AFTER, 1_500, seed=1)
        report = send(experiment, wide[::-1], 1_500, seed=2)
        assert not report.decided or "looks best" in report.headline


def test_nobody_looks_where_it_is_ignored(tmp_path):
    with live(tmp_path / "a.db", watch={"change": "ignore", "interaction": "ignore"}) as experiment:
        send(experiment, BEFORE, 1_000)
        assert send(experiment, AFTER, 1_500, seed=1).alarms == ()
        (note,) = experiment.database.transactions.storage.query("SELECT note FROM rankone_journal WHERE seq = 1")
        settings = json.loads(note[0])

        assert settings["watch"]["change"] == "ignore"


def test_unless_it_says_otherwise_an_experiment_tells():
    with live() as experiment:
        assert (experiment.settings.watch.change, experiment.settings.watch.interaction) == ("warn", "warn")


@pytest.mark.parametrize("what", ["change", "interaction"])
def test_what_it_cannot_do(what):
    with pytest.raises(InputError, match=rf"Expected {what} as one of (restart|test-all), warn, ignore, but got shout"):
        live(watch={what: "shout"})


def test_settings_of_an_experiment_that_is_there_stay():
    with (
        live(watch={"change": "restart"}) as experiment,
        pytest.raises(InputError, match="change 'restart', with which"),
    ):
        Experiment("homepage", db=experiment.database, watch={"change": "warn"})


def test_restarts_of_the_program_repeat_alarms_bit_for_bit(db):
    clocks = Clock(), Clock()
    with live(db, "never stopped", watch={"change": "restart"}, clock=clocks[0]) as experiment:
        for part, table in enumerate((BEFORE, AFTER, BEFORE)):
            send(experiment, table, 1_200, seed=part)
        expected = saved(experiment)
        assert len(experiment.report().alarms) >= 2
        asked = [(row_of(one), col_of(one)) for one in experiment.ask(100)]
    for part, table in enumerate((BEFORE, AFTER, BEFORE)):
        with live(db, "stopped often", watch={"change": "restart"}, clock=clocks[1]) as experiment:
            send(experiment, table, 1_200, seed=part)
    with live(db, "stopped often", watch={"change": "restart"}, clock=clocks[1]) as experiment:
        found, known = saved(experiment), expected
        assert found.keys() == known.keys()
        different = [name for name in found if found[name] != known[name]]
        assert set(different) <= {"facts", "secrets"}  # the name, the chain of checksums and secrets
        assert [(row_of(one), col_of(one)) for one in experiment.ask(100)] == asked
    assert all(finding.ok for finding in examine(db))


def test_segments_know_nothing_from_before_a_restart_however_the_journal_is_read(sqlite_db):
    with live(sqlite_db, watch={"change": "restart"}) as experiment:
        for part, table in enumerate((BEFORE, AFTER)):
            rng = generator(part, "visitors")
            for _ in range(24):
                asked = experiment.ask(50, context={"device": "phone"})
                experiment.tell_many([(one, bool(rng.random() < table[row_of(one), col_of(one)])) for one in asked])
        expected = saved(experiment)
        assert [alarm.did for alarm in experiment.report().alarms] == ["restart"]
    with Experiment("homepage", db=sqlite_db, durability="off") as again:
        assert saved(again) == expected


def test_snapshots_hold_alarms(sqlite_db, monkeypatch):
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 500)
    monkeypatch.setattr("rankone.live.commit.transactions._BYTES_PER_EVENT", 10**9)
    with live(sqlite_db, watch={"change": "restart", "interaction": "test-all"}) as experiment:
        send(experiment, BEFORE, 1_000)
        send(experiment, AFTER, 1_500, seed=1)
        expected = saved(experiment)
    with Experiment("homepage", db=sqlite_db, durability="off") as again:
        assert again._cached.snapshot_seq > 0
        assert saved(again) == expected


def test_levels_come_and_go_after_a_restart():
    with live(watch={"change": "restart"}) as experiment:
        send(experiment, BEFORE, 1_000)
        send(experiment, AFTER, 1_500, seed=1)
        experiment.add_level("row", "D")
        experiment.retire_level("row", "B")
        report = send(experiment, np.vstack([AFTER, [[0.1, 0.1]]]), 500, seed=2)
        assert len(report.alarms) == 1
        assert len(report.eras) == 4
        assert sum(row.earlier_outcomes for row in report.factors[0].levels) == report.alarms[0].outcomes
        assert report.factors[0].levels[3].earlier_outcomes == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_retires_while_decisions_are_open_is_no_change(seed):
    alike = np.full((3, 2), 0.5)
    with live(watch={"change": "restart"}, seed=seed) as experiment:
        rng, waiting = generator(seed, "late"), experiment.ask(1_000)
        experiment.retire_level("row", "C")
        experiment.tell_many([(one, bool(rng.random() < 0.5)) for one in waiting])
        report = send(experiment, alike, 1_500, seed)
    assert report.alarms == ()
    assert sum(row.outcomes for row in report.factors[0].levels) == 2_500


def test_outcomes_excluded_later_leave_the_counts_before_a_change(tmp_path):
    with live(tmp_path / "a.db", watch={"change": "restart"}) as experiment:
        send(experiment, BEFORE, 1_000)
        report = send(experiment, AFTER, 1_500, seed=1)
        before = report.factors[0].levels[1].earlier_outcomes
        experiment.exclude(levels={"row": "B"}, why="broken page")
        assert before > 0
        assert experiment.report().factors[0].levels[1].earlier_outcomes == 0
    assert all(finding.ok for finding in examine(tmp_path / "a.db"))


def test_levels_that_are_no_product_are_insured():
    with live(watch={"interaction": "test-all", "change": "ignore"}, policy="uniform") as experiment:
        report = send(experiment, EXCEPTION, 3_000)
        (alarm,) = report.alarms
        assert (alarm.what, alarm.did) == ("misfit", "test-all")
        assert alarm.beside
        assert report.policy.startswith("insured-uts")
        assert "A policy that tests all combinations took over." in report.details
        assert ": levels interact (" in report.warnings[0]


def test_levels_that_are_no_product_are_told_once():
    with live(watch={"change": "ignore"}, policy="uniform") as experiment:
        report = send(experiment, EXCEPTION, 4_000)
        assert [(alarm.what, alarm.did) for alarm in report.alarms] == [("misfit", "warn")]
        assert "No action was taken." in report.details
        assert " wins" not in report.headline


def test_three_factors():
    factors = {"headline": ["A", "B"], "image": ["1", "2"], "button": ["x", "y"]}
    with Experiment(
        "three", factors=factors, db=None, policy="uniform", seed=3, watch={"change": "restart"}
    ) as experiment:
        rng = generator(4, "visitors")
        for at in range(0, 3_000, 50):
            better = "A" if at < 1_200 else "B"
            chance = {True: 0.9, False: 0.3}
            told = [(one, rng.random() < chance[one.levels["headline"] == better] * 0.8) for one in experiment.ask(50)]
            experiment.tell_many([(one, bool(clicked)) for one, clicked in told])
        report = experiment.report()
        assert report.alarms[0].factor == "headline"
        assert report.eras[1].startswith("alarm: clicks of headline '")
        assert report.best["headline"] == "B"
        clicks = sum(level.clicks for level in report.factors[0].levels)
        assert 0 < clicks < report.outcomes["clicked"]  # of what came before it nothing is known of today
        assert f"clicks since the restart instead of {clicks:,}, if effects multiply" in report.details
