"""What the page is told: heat maps, the course of time, the uniform split; and that looking costs writers little."""

import json
import threading

import numpy as np
import pytest

from rankone.live import Database, Experiment
from rankone.live.journal.events import AT, COLUMNS, KIND, Kind
from rankone.live.report.rates import uniform_rate
from rankone.numerics.seeds import generator
from rankone.web import timeline as timeline_module
from rankone.web.dashboard_data import MAX_SHOWN, report_of, view_of
from rankone.web.encoding import encode
from rankone.web.timeline import SIMULATED, Timeline
from tests.levels import row_of
from tests.live.helpers import Clock, at, start


def viewed(experiment, reader):
    return json.loads(encode(view_of(experiment, Timeline(reader, experiment.name))))


def test_the_timeline_counts_what_the_journal_holds(db):
    clock = Clock()
    experiment = start(db, clock=clock)
    reader = Database(db, read_only=True)
    timeline = Timeline(reader, "homepage")
    rng = generator(0, "timeline")
    for step in range(400):
        clock.pass_seconds(float(rng.random()) * (1 if step < 200 else 60))  # slow days: stretches have to double
        source = SIMULATED if rng.random() < 0.3 else None
        for decision in experiment.ask(1 + int(rng.random() * 3), source=source):
            if rng.random() < 0.8:
                experiment.tell(decision.id, bool(rng.random() < 0.5))
        if step % 50 == 0:
            timeline.catch_up()  # bit by bit: the result is the same as at once
    timeline.catch_up()
    at_once = Timeline(reader, "homepage")
    at_once.catch_up()
    points = timeline.to_dict()["points"]
    assert len(points) <= timeline_module.MAX_POINTS
    rows = experiment.database.use(lambda storage: storage.tail(1, 0, 10**6))
    asked, told = ([row for row in rows if row[KIND] == kind] for kind in (Kind.ASK, Kind.TELL))
    for found in (points, at_once.to_dict()["points"]):
        assert sum(point["decisions"] for point in found) == len(asked)
        assert sum(point["outcomes"] for point in found) == len(told)
        assert sum(point["clicks"] for point in found) == experiment.report().outcomes["clicked"]
    assert timeline.simulated == at_once.simulated == sum(row[COLUMNS.index("source")] == SIMULATED for row in asked)
    seconds = timeline.to_dict()["seconds"]
    inside = [row for row in asked if points[3]["at"] <= row[AT] / 1e6 < points[3]["at"] + seconds]
    assert points[3]["decisions"] == len(inside)
    reader.close()
    experiment.close()


def test_heat_maps_show_the_busiest_lines_and_the_leader(sqlite_db):
    experiment = start(sqlite_db, n_rows=40, n_cols=2, policy="uniform")
    for decision in experiment.ask(400):
        experiment.tell(decision.id, row_of(decision) == 39)
    reader = Database(sqlite_db, read_only=True)
    view = viewed(experiment, reader)
    heat, report = view["heat"], view["report"]
    rows, cols = heat["levels"]
    assert (len(rows), len(cols)) == (MAX_SHOWN, 2)
    place = rows.index(report["factors"][0]["best"])
    assert sum(heat["clicks"][place]) == report["outcomes"]["clicked"] > 0
    assert rows == sorted(rows, key=lambda name: int(name.split()[-1]))
    reader.close()
    experiment.close()


def test_views_tell_the_truth_while_others_write(sqlite_db):
    experiment = start(sqlite_db)
    reader = Database(sqlite_db, read_only=True)
    over = threading.Event()

    def write():
        while not over.is_set():
            for decision in experiment.ask(5):
                experiment.tell(decision.id, row_of(decision) == 0)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    for _ in range(30):
        view = viewed(experiment, reader)
        counts = view["report"]["outcomes"]
        known = counts["clicked"] + counts["not_clicked"]
        assert known + counts["open"] == view["report"]["decisions"] == np.sum(view["heat"]["decisions"])
        assert known == np.sum(view["heat"]["outcomes"])
        seen.append(view["report"]["decisions"])
    over.set()
    writer.join()
    assert seen == sorted(seen)
    reader.close()
    experiment.close()


def test_the_uniform_split_is_estimated_from_uneven_traffic():
    """Counts that are the truth itself give the truth, however uneven; pairs never shown are filled in by the model."""
    rows, cols = np.array([0.8, 0.5, 0.2]), np.array([0.9, 0.3])
    pulls = np.array([[100_000, 100], [1_000, 10_000], [5_000, 0]])
    clicks = np.round(pulls * np.outer(rows, cols)).astype(np.int64)
    assert abs(uniform_rate(pulls, clicks) - rows.mean() * cols.mean()) < 1e-3
    assert uniform_rate(np.full((2, 2), 50), np.zeros((2, 2), np.int64)) == 0.0
    assert uniform_rate(np.array([[100]]), np.array([[100]])) == pytest.approx(1.0)


def test_the_uniform_split_is_not_estimated_from_lines_hardly_shown():
    """A policy stops showing what began badly: such rates are too low, and the advantage would be overstated."""
    assert uniform_rate(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)) is None
    assert uniform_rate(np.array([[1000, 99]]), np.array([[500, 1]])) is None
    assert uniform_rate(np.array([[1000], [99]]), np.array([[500], [1]])) is None
    assert uniform_rate(np.array([[1000, 100]]), np.array([[500, 1]])) is not None


def test_windows_end_before_a_report(sqlite_db):
    clock = Clock()
    with at(clock)("homepage", 2, 2, "ucb1", sqlite_db, outcomes={"window": 10}, durability="off") as experiment:
        experiment.ask(4)
        clock.pass_seconds(11)
        assert report_of(experiment).outcomes["expired"] == 4


def test_a_long_journal_is_counted_in_stretches(tmp_path, monkeypatch):
    """The database ends statements that take long: none has to count the whole journal."""
    with Database(tmp_path / "rankone.db") as database:
        experiment = Experiment("homepage", ["A", "B"], ["1", "2"], "ucb1", database)
        for decision in experiment.ask(count=20):
            experiment.tell(decision.id, clicked=True)
        whole, parts = Timeline(database, "homepage"), Timeline(database, "homepage")
        whole.catch_up()
        monkeypatch.setattr(timeline_module, "_STRETCH", 7)
        spans, count = [], parts._count
        monkeypatch.setattr(
            parts, "_count", lambda upto, storage: (spans.append(upto - parts._seq), count(upto, storage))
        )
        parts.catch_up()
    assert max(spans) == 7
    assert parts.to_dict() == whole.to_dict()
    assert sum(point["clicks"] for point in parts.to_dict()["points"]) == 20
