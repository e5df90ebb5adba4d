"""Closing and forking while other threads ask: nobody crashes, hangs or writes into nowhere.

RANKONE_TRIES=1000 runs the long version.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankone.live import Database, Experiment, Ranking
from rankone.live.journal.events import COLUMNS, KIND, Kind
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.live.storage.forks import AtWork
from rankone.live.storage.sql import Storage
from tests.levels import row_of

from .helpers import ORDERS, error_of, start
from .workers import CONTEXT, close_by_signal, close_under_load, fork_at_work, fork_under_load, rank_in_a_child

TRIES = int(os.environ.get("RANKONE_TRIES", "20"))
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def run(target, *arguments):
    """Run a worker in a process of its own, which may crash; return what it puts."""
    answers = CONTEXT.Queue()
    process = CONTEXT.Process(target=target, args=(*arguments, answers))
    process.start()
    answer = answers.get(timeout=600)
    process.join()
    assert process.exitcode == 0
    return answer


def test_close_waits_its_turn_and_later_calls_are_refused(db):
    start(db).close()
    process = CONTEXT.Process(target=close_under_load, args=(str(db), TRIES))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert all(finding.ok for finding in examine(db))


def test_a_signal_handler_may_close(db):
    start(db, outcomes={"max_open": 10**6}).close()
    ends = run(close_by_signal, str(db), TRIES)
    assert len(ends) >= TRIES
    assert all("closed" in end for end in ends)
    assert all(finding.ok for finding in examine(db))


@pytest.mark.parametrize("read", [decisions_table])
def test_close_leaves_those_alone_who_read_a_journal(db, monkeypatch, read):
    begun, go_on, first = threading.Event(), threading.Event(), Storage.tail

    def slowly(self, *arguments):
        begun.set()
        assert go_on.wait(60)
        return first(self, *arguments)

    database = Database(db)
    experiment = start(database)
    experiment.tell_many([(decision, True) for decision in experiment.ask(count=30)])
    monkeypatch.setattr(Storage, "tail", slowly)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read, database, "homepage")
        try:
            assert begun.wait(60)
            database.close()
        finally:
            go_on.set()
        assert reading.result() is not None
    assert database.transactions.storage._connection is None  # nor was it opened again
    assert "closed" in str(error_of(read, database, "homepage"))


@pytest.mark.parametrize("call", ["close", "ask"])
def test_a_call_within_a_call_does_not_wait_for_itself(sqlite_db, call):
    experiment, errors = start(sqlite_db), []
    nested = threading.Thread(
        target=lambda: experiment.look(lambda fold: errors.append(error_of(getattr(experiment, call)))), daemon=True
    )
    nested.start()
    nested.join(timeout=60)
    assert not nested.is_alive()
    later = error_of(experiment.ask)
    if call == "close":  # once the look was finished
        assert errors == [None]
        assert "closed" in str(later)
    else:
        assert "within another" in str(errors[0])
        assert later is None


def test_a_child_forked_while_threads_write_can_use_the_file(db):
    with start(
        db, "uniform", watch={"change": "restart"}, goals=ORDERS
    ) as experiment:  # the crowd clicks on all rows alike: an alarm rings
        for _ in range(12):
            experiment.tell_many([(one, row_of(one) == 0) for one in experiment.ask(100, context={"device": "first"})])
        assert experiment.report().alarms == ()
    codes, ends = run(fork_under_load, str(db), TRIES)
    assert codes == [0] * TRIES
    assert all("closed" in end for end in ends)  # and its parent's threads went on
    with Experiment("homepage", db=db) as experiment:
        while not (report := experiment.report()).alarms:  # if the forks were too quick for it
            experiment.tell_many([(one, True) for one in experiment.ask(100)])
        rows = experiment.database.use(lambda storage: storage.tail(1, 0, 10**9))
        orders = [row for row in rows if row[KIND] == Kind.GOAL]
    assert len({row[COLUMNS.index("key")] for row in orders}) == len(orders) == TRIES  # each was sent twice
    by_child = [row[COLUMNS.index("context")] for row in rows if row[COLUMNS.index("source")] == "child"]
    assert by_child == ['{"device":"child"}'] * TRIES
    assert [alarm.did for alarm in report.alarms][:1] == ["restart"]
    assert len(report.eras) == 1 + len(report.alarms)
    assert all(finding.ok for finding in examine(db))


def test_a_child_that_cannot_use_the_file_is_told_at_once(db):
    start(db).close()
    assert run(fork_at_work, str(db)) == (0, 0)


@pytest.mark.parametrize("interrupted", ["waiting", "disconnecting"])
def test_a_child_of_a_fork_whose_preparation_was_interrupted_is_told(monkeypatch, interrupted):
    """Python goes on with a fork whatever is raised before it."""

    class Connected:
        def disconnect(self):
            pass

        def begin_in_child(self):
            pass

    def stop(*_):
        raise KeyboardInterrupt

    work, connected = AtWork(), Connected()
    work.register(connected)
    work.before_fork()  # one that goes well comes first
    work.after_fork()
    owner, method = {"waiting": (work._change, "wait_for"), "disconnecting": (connected, "disconnect")}[interrupted]
    monkeypatch.setattr(owner, method, stop)
    with pytest.raises(KeyboardInterrupt):
        work.before_fork()
    work.after_fork_in_child()
    assert "forked while" in str(error_of(work.__enter__))


def test_what_a_child_writes_is_kept_when_its_parent_closes(sqlite_db):
    """The last to close deletes the write-ahead log: a child that believes it holds its parent's locks loses it."""
    database = Database(sqlite_db)
    experiment = start(database)
    experiment.ask()
    (hear, say), (hear_child, say_child) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            experiment.ask()
            os.write(say_child, b".")
            os.read(hear, 1)  # until the parent has closed
            experiment.ask()
            os._exit(0)
        finally:
            os._exit(1)
    os.read(hear_child, 1)
    experiment.ask()
    database.close()
    os.write(say, b".")
    assert os.waitpid(child, 0)[1] == 0
    for end in (hear, say, hear_child, say_child):
        os.close(end)
    with Experiment("homepage", db=sqlite_db) as again:
        assert again.report().decisions == 4
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_ranking_goes_on_in_parent_and_child(sqlite_db):
    Ranking("home", [*"abcdef"], positions=3, policy="cascade-ts", db=sqlite_db, seed=1).close()
    assert run(rank_in_a_child, str(sqlite_db)) == 0
    with Ranking("home", db=sqlite_db) as ranking:
        assert ranking.report().outcomes["clicked"] == 41
    assert all(finding.ok for finding in examine(sqlite_db))
