"""Nothing acknowledged is lost when the process is killed. RANKONE_KILLS=1000 runs the long version."""

import os
import signal
import time

import numpy as np
import pytest

from rankone.live import Experiment, Ranking
from rankone.live.journal.events import COLUMNS, DECISION, KIND, VALUE, Kind
from rankone.live.journal.packing import unpack_shown
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.numerics.seeds import generator
from tests.levels import row_of

from .helpers import ORDERS, orders_of, start
from .workers import CONTEXT, rank_until_killed, serve_until_killed

CONTEXT_COLUMN = COLUMNS.index("context")
KILLS = int(os.environ.get("RANKONE_KILLS", "60"))
POINTS = ("before apply", "before append", "after append", "after commit", "during snapshot")


def check_history(db, acknowledgements):
    """Every acknowledged decision and outcome is in the journal, as acknowledged; nothing is learned twice."""
    with Experiment("homepage", db=db) as experiment:
        orders = orders_of(experiment)
        rows = experiment.database.transactions.storage.tail(1, 0, 10**9)
        counts = experiment.report().outcomes
        state_clicks, by_segment, rang = experiment.look(
            lambda fold: (
                int(fold.clicks.sum() + fold.earlier[2].sum()),
                sum(fold.segments.counts, np.zeros((3, 1, 1), int)).sum(axis=(1, 2)),
                len(fold.alarms),
            )
        )
    asked, told = {}, {}
    for row in rows:
        if row[KIND] == Kind.ASK:
            asked[row[DECISION]] = row
        elif row[KIND] == Kind.TELL:
            assert row[DECISION] not in told, "learned twice"
            told[row[DECISION]] = row
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1)), "torn"
    acknowledged = 0
    for line in acknowledgements.read_text().splitlines():
        what, id, *details = line.split(maxsplit=2) if line.startswith("ordered") else line.split()
        number, secret = id.split("-")
        row = asked[int(number)]
        assert bytes(row[COLUMNS.index("secret")]).hex() == secret
        if what == "asked":
            assert details[:2] == list(map(str, unpack_shown(row[COLUMNS.index("shown")])))
            assert row[CONTEXT_COLUMN] == (None if details[2] == "0" else f'{{"device":"device {details[2]}"}}')
        elif what == "ordered":
            assert (int(number), details[0]) in orders
        else:
            assert told[int(number)][VALUE] == int(details[0])
        acknowledged += 1
    assert counts["clicked"] == state_clicks == sum(row[VALUE] for row in told.values())
    assert counts["clicked"] + counts["not_clicked"] == len(told)
    said = [number for number, row in asked.items() if row[CONTEXT_COLUMN]]
    of_segments = [told[number][VALUE] for number in said if number in told]
    if not rang:  # then they are counted anew
        assert by_segment.tolist() == [len(said), len(of_segments), sum(of_segments)]
    return acknowledged


def check_lists(db, acknowledgements):
    """Every acknowledged list and outcome is in the journal, as acknowledged, and a replay gives the same."""
    with Ranking("home", db=db) as ranking:
        table = decisions_table(ranking.database, "home")
        learned = ranking.report().outcomes
    lists = {id: rows.sort("position") for (id,), rows in table.group_by("id")}
    lines = acknowledgements.read_text().splitlines()
    for line in lines:
        what, id, *said = line.split(" ")
        if what == "asked":
            assert ",".join(lists[id]["item"]) == said[0]
        else:
            clicked = [str(row["position"]) for row in lists[id].to_dicts() if row["clicked"]]
            assert ",".join(clicked) == said[0]
    assert learned["clicked"] + learned["not_clicked"] == sum(rows["learned"][0] for rows in lists.values())
    return len(lines)


def kill_repeatedly(db, folder, kills, how, serve=serve_until_killed, check=check_history):
    """Start a process that serves, kill it, and again; check the whole history now and then."""
    rng = generator(1, "kills")
    acknowledgements = folder / "acknowledgements"
    acknowledgements.touch()
    for round_number in range(kills):
        point = how(round_number)
        after = 2 + int(rng.random() * (3 if point == "during snapshot" else 40))
        process = CONTEXT.Process(target=serve, args=(str(db), str(acknowledgements), point, after))
        process.start()
        if point is None:
            size = acknowledgements.stat().st_size
            while acknowledgements.stat().st_size == size:  # it is at work
                time.sleep(0.002)
            time.sleep(float(rng.random()) * 0.05)
            process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, point
        if round_number % 10 == 9 or round_number == kills - 1:
            acknowledged = check(db, acknowledgements)
    return acknowledged


def test_sigkill_at_random_and_at_named_points_loses_nothing(sqlite_db, tmp_path):
    start(sqlite_db, goals=ORDERS).close()
    how = lambda round_number: (None, *POINTS)[round_number % 6]  # noqa: E731
    acknowledged = kill_repeatedly(sqlite_db, tmp_path, KILLS, how)
    assert acknowledged > KILLS
    findings = examine(sqlite_db)
    assert all(finding.ok for finding in findings), findings
    assert any(finding.check.startswith("snapshot") for finding in findings)


def test_sigkill_of_a_ranking_loses_nothing(sqlite_db, tmp_path):
    Ranking("home", [*"abcdef"], positions=3, policy="cascade-ts", db=sqlite_db, seed=1, durability="off").close()
    how = lambda round_number: (None, *POINTS)[round_number % 6]  # noqa: E731
    acknowledged = kill_repeatedly(sqlite_db, tmp_path, max(6, KILLS // 5), how, rank_until_killed, check_lists)
    assert acknowledged > 6
    findings = examine(sqlite_db)
    assert all(finding.ok for finding in findings), findings


def test_sigkill_while_an_alarm_rings_loses_nothing(sqlite_db, tmp_path):
    """Row 0 was clicked often, and then all rows alike: the alarm and its era are written once, or not at all."""
    with start(sqlite_db, "uniform", watch={"change": "restart"}, goals=ORDERS) as experiment:
        rng = generator(2, "clicks")
        for _ in range(12):
            told = [(one, bool(rng.random() < (0.05 if row_of(one) else 0.95))) for one in experiment.ask(100)]
            experiment.tell_many(told)
        assert experiment.report().alarms == ()
    for round_number in range(4):
        kill_repeatedly(sqlite_db, tmp_path, 1, lambda round_number: "after append")
        with Experiment("homepage", db=sqlite_db, durability="normal") as experiment:
            told = [(one, bool(rng.random() < 0.5)) for one in experiment.ask(400 + round_number)]
            experiment.tell_many(told)
    kill_repeatedly(sqlite_db, tmp_path, 2, lambda round_number: ("before append", "after commit")[round_number])
    with Experiment("homepage", db=sqlite_db) as experiment:
        report = experiment.report()
    assert [alarm.did for alarm in report.alarms[:1]] == ["restart"]
    assert len(report.eras) == 1 + len(report.alarms)
    findings = examine(sqlite_db)
    assert all(finding.ok for finding in findings), findings


@pytest.mark.parametrize("point", [None, "before append", "after append", "after commit"])
def test_sigkill_of_a_client_of_postgres_loses_nothing(point, postgres, tmp_path):
    db = postgres.new_database()
    start(db, goals=ORDERS).close()
    assert kill_repeatedly(db, tmp_path, 2, lambda round_number: point) > 0
    assert all(finding.ok for finding in examine(db))


def test_postgres_killed_and_started_again(postgres):
    db = postgres.new_database()
    experiment = start(db, durability="full")
    told = [experiment.tell(experiment.ask().id, True).id for _ in range(20)]
    postgres.stop(signal.SIGKILL)
    with pytest.raises(Exception, match="Expected the database") as gone:
        experiment.ask()
    assert type(gone.value).__name__ == "StorageError"
    postgres.start()
    told.append(experiment.tell(experiment.ask().id, True).id)  # heals by itself
    assert all(experiment.tell(id, True).repeated for id in told)
    assert experiment.report().outcomes["clicked"] == 21
    experiment.close()
