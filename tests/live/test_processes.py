"""Many processes on one database; disks that fill up; databases that are locked or gone."""

import contextlib
import gc
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankone.compiling.tiers import tiered
from rankone.errors import InputError, StorageError
from rankone.live import Ask, Database, Experiment, Tell
from rankone.live.commit import transactions, warm_up
from rankone.live.commit.transactions import Transactions
from rankone.live.fold import fold_cache, journal_reading
from rankone.live.journal.events import COLUMNS
from rankone.live.operate.doctor import examine
from rankone.live.storage import open_storage

from .helpers import error_of, saved, start
from .workers import CONTEXT, fill_the_disk, open_and_use


def test_32_processes_open_the_same_new_database_at_once(db):
    barrier, answers = CONTEXT.Barrier(32), CONTEXT.Queue()
    processes = [CONTEXT.Process(target=open_and_use, args=(str(db), barrier, answers, number)) for number in range(32)]
    for process in processes:
        process.start()
    failures = [failure for failure in (answers.get(timeout=300) for _ in processes) if failure is not None]
    for process in processes:
        process.join()
    assert not failures
    with Experiment("homepage", db=db) as experiment:
        assert experiment.report().outcomes["clicked"] == 96
        assert (
            len(
                {row[COLUMNS.index("source")] for row in experiment.database.transactions.storage.tail(1, 0, 10_000)}
                - {None}
            )
            == 32
        )
    assert all(finding.ok for finding in examine(db))


def test_a_full_disk_is_an_error_and_heals(sqlite_db):
    start(sqlite_db).close()
    answers = CONTEXT.Queue()
    process = CONTEXT.Process(target=fill_the_disk, args=(str(sqlite_db), 300_000, answers))
    process.start()
    kind, message = answers.get(timeout=300)
    assert kind == "StorageError", message
    assert "Make room" in message
    told = answers.get(timeout=300)
    process.join()
    assert process.exitcode == 0
    with Experiment("homepage", db=sqlite_db) as experiment:
        assert all(experiment.tell(id, True).repeated for id in told)
        assert experiment.report().outcomes["clicked"] in (len(told), len(told) + 1)  # a tell may fail after its ask
    assert all(finding.ok for finding in examine(sqlite_db))


def test_sqlite_reports_itself_full(sqlite_db):
    experiment = start(sqlite_db)
    told = [experiment.tell(experiment.ask().id, True).id for _ in range(10)]
    storage = experiment.database.transactions.storage
    pages = storage.query("PRAGMA page_count")[0][0]
    storage.query(f"PRAGMA max_page_count = {pages}")
    errors = [error for error in (error_of(experiment.ask, count=1000) for _ in range(3)) if error]
    assert errors
    assert all(isinstance(error, StorageError) and "full" in str(error) for error in errors)
    decisions = experiment.look(lambda fold: fold.decisions)
    storage.query("PRAGMA max_page_count = 1000000")
    assert experiment.ask().number == decisions
    assert all(experiment.tell(id, True).repeated for id in told)
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_database_locked_for_too_long_is_an_error_and_heals(sqlite_db):
    start(sqlite_db).close()
    database = Database(sqlite_db, patience=0.1)
    experiment = Experiment("homepage", db=database)
    other = sqlite3.connect(sqlite_db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert isinstance(error_of(experiment.ask), StorageError)
    assert experiment.report().decisions == 0  # readers do not wait for writers
    other.execute("ROLLBACK")
    other.close()
    assert experiment.ask().number == 0
    database.close()


@pytest.mark.parametrize("harm", ["deleted", "replaced"])
def test_a_file_deleted_or_replaced_is_an_error_and_heals_when_it_is_back(harm, sqlite_db, tmp_path):
    """SQLite itself would go on writing into the lost file, and acknowledge."""
    experiment = start(sqlite_db)
    told = experiment.tell(experiment.ask().id, True)
    aside = sqlite_db.rename(tmp_path / "aside.db")
    if harm == "replaced":
        sqlite_db.write_bytes(aside.read_bytes())
    for call in (experiment.ask, experiment.settle, lambda: experiment.add_level("row", "new")):
        error = error_of(call)
        assert isinstance(error, StorageError)
        assert "moved, replaced or deleted" in str(error)
    aside.rename(sqlite_db)
    assert experiment.ask().number == 1
    assert experiment.tell(told.id, True).repeated
    assert all(finding.ok for finding in examine(sqlite_db))


def test_a_connection_lost_within_a_transaction_writes_nothing(postgres, monkeypatch):
    """The server ends the connection when the lock is taken: the rest must not be written on a new connection."""
    import psycopg

    db = postgres.new_database()
    experiment = start(db)
    told = experiment.tell(experiment.ask().id, True)
    storage = experiment.database.transactions.storage
    look_up = type(storage).of_decision

    def lose(self, *arguments):
        with psycopg.connect(db, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (self._connection.info.backend_pid,))
        return look_up(self, *arguments)

    with monkeypatch.context() as broken:
        broken.setattr(type(storage), "of_decision", lose)
        assert isinstance(error_of(experiment.do, [Tell(told.id, True), Ask()]), StorageError)
    assert experiment.look(lambda fold: fold.decisions) == 1
    assert experiment.ask().number == 1
    assert experiment.tell(told.id, True).repeated
    assert all(finding.ok for finding in examine(db))
    experiment.close()


def test_where_there_is_no_database_the_message_says_what_is_there(tmp_path, sqlite_db):
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE other (x)").connection.close()
    for place, options, words in (
        (tmp_path / "no" / "rankone.db", {}, "no folder"),
        (tmp_path, {}, "a folder"),
        (tmp_path / "missing.db", {"read_only": True}, "No such file:"),
        (tmp_path / "other.db", {"read_only": True}, "without any"),
    ):
        assert words in str(error_of(Database, place, **options)), words
    start(sqlite_db).close()
    reader = Experiment("homepage", db=Database(sqlite_db, read_only=True))
    assert "Open it for writing" in str(error_of(reader.ask))


def test_a_database_that_is_not_there_or_not_ours(tmp_path, postgres):
    assert isinstance(error_of(Experiment, "x", 2, 2, "ucb1", db=tmp_path / "no" / "folder.db"), StorageError)
    assert isinstance(error_of(Database, tmp_path / "missing.db", read_only=True), StorageError)
    assert not (tmp_path / "missing.db").exists()
    error = error_of(Database, "postgresql://someone:secret@127.0.0.1:1/x", patience=2)
    assert isinstance(error, StorageError)
    assert "secret" not in str(error)
    assert isinstance(error_of(Experiment, "x", db=tmp_path / "new.db"), InputError)
    missing = postgres.url("no_such_database")
    assert isinstance(error_of(Database, missing), StorageError)


def test_readers_write_nothing(db):
    experiment = start(db)
    experiment.tell(experiment.ask().id, True)
    reader = Database(db, read_only=True)
    watched = Experiment("homepage", db=reader)
    assert watched.report().outcomes["clicked"] == 1
    experiment.tell(experiment.ask().id, True)
    assert watched.report().outcomes["clicked"] == 2
    assert isinstance(error_of(watched.ask), StorageError)
    assert watched.report().decisions == 2
    reader.close()
    experiment.close()


def test_a_new_file_and_its_log_are_for_their_owner_only(sqlite_db):
    before = os.umask(0o022)
    try:
        with start(sqlite_db) as experiment:
            experiment.ask()
            modes = {file.name: oct(file.stat().st_mode & 0o777) for file in sqlite_db.parent.glob("rankone.db*")}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["rankone.db", "rankone.db-wal", "rankone.db-shm"], "0o600")


def test_others_are_served_while_a_long_journal_is_read(db, monkeypatch):
    """Outcomes that another program excludes, or opening an experiment, have it read: not in the turn of all others."""
    begun, go_on, read_whole = threading.Event(), threading.Event(), fold_cache.read_whole

    def slowly(storage, number):
        begun.set()
        assert go_on.wait(60)
        return read_whole(storage, number)

    with Database(db) as database:
        experiment, other = start(database), start(database, name="shop")
        experiment.tell(experiment.ask().id, True, source="bot")
        other.ask()
        with Database(db) as theirs:
            assert Experiment("homepage", db=theirs).exclude(source="bot") == 1
        monkeypatch.setattr(fold_cache, "read_whole", slowly)
        with ThreadPoolExecutor() as pool:
            try:
                reading = pool.submit(experiment.report)
                assert begun.wait(60)
                asking = pool.submit(experiment.ask)  # has to wait, and does so outside the turn
                assert [other.ask().number for _ in range(3)] == [1, 2, 3]
                assert database.names() == ["homepage", "shop"]
            finally:
                go_on.set()
            assert (reading.result().excluded, asking.result().number) == (1, 1)
    assert all(finding.ok for finding in examine(db))


def test_a_tail_too_long_for_the_turn_is_read_outside_it(db, monkeypatch):
    monkeypatch.setattr(fold_cache, "SHORT", 20)
    with Database(db) as ours, Database(db) as theirs:
        experiment, same = start(ours), start(theirs)
        experiment.ask()
        monkeypatch.setattr(fold_cache, "read_whole", None)  # nor is all read again that was known
        for number in range(4):
            same.tell_many([(decision, True) for decision in same.ask(count=60)])
            assert experiment.ask().number == 61 * number + 61
        assert saved(experiment) == saved(same)


def test_reading_in_several_threads_leaves_the_garbage_collector_on():
    """Turned off by the first who comes, and on again by the last who leaves: no turn of events leaves it off."""
    ignored = journal_reading.cycles_ignored
    for enter in (True, True, False, True, False):
        ignored.__enter__() if enter else ignored.__exit__()
        assert not gc.isenabled()
    ignored.__exit__()
    assert gc.isenabled()


def test_a_commit_that_fails_may_have_got_in(sqlite_db):
    with contextlib.closing(open_storage(sqlite_db)) as storage:
        storage.query("PRAGMA foreign_keys = ON")
        storage.begin([1])
        storage.query("PRAGMA defer_foreign_keys = ON")  # so that it is the commit that fails
        storage.query("INSERT INTO rankone_snapshots (experiment, seq, body) VALUES (1, 1, '')")
        assert "it may have been stored" in str(error_of(storage.commit)).lower()


def test_few_journals_are_read_at_once(sqlite_db, monkeypatch):
    """Each takes memory. Three who read would meet at the barrier."""
    barrier, met, read_whole = threading.Barrier(3), [], fold_cache.read_whole

    def together(storage, number):
        with contextlib.suppress(threading.BrokenBarrierError):
            met.append(barrier.wait(timeout=0.5))
        return read_whole(storage, number)

    names = ["a", "b", "c", "d"]
    for name in names:
        start(sqlite_db, name=name).close()
    monkeypatch.setattr(fold_cache, "read_whole", together)
    with Database(sqlite_db) as database, ThreadPoolExecutor() as pool:
        opened = list(pool.map(lambda name: Experiment(name, db=database), names))
        assert [experiment.ask().number for experiment in opened] == [0] * 4
    assert met == []


@pytest.fixture
def compiled_first(monkeypatch):
    """As for a user's own policy, or where RANKONE_COMPILE says so: decisions wait for the compiler."""
    monkeypatch.setenv("RANKONE_COMPILE", "first")
    tiered.cache_clear()
    yield
    tiered.cache_clear()


@pytest.mark.usefixtures("compiled_first")
def test_policies_are_compiled_outside_the_turn_and_only_once(sqlite_db, monkeypatch):
    turns, tried, carry_out = [], [], Transactions._carry_out

    def broken(policy, n_factors):
        tried.append(policy.label)
        raise InputError("a policy that compiles", "another", "mend it")

    monkeypatch.setattr(Transactions, "_carry_out", lambda self, group: turns.append(1) or carry_out(self, group))
    monkeypatch.setattr(warm_up, "_compiled", set())
    with Database(sqlite_db) as database:
        experiment, other = start(database), start(database, name="shop")
        with monkeypatch.context() as patch:
            patch.setattr(transactions, "warm_up", broken)
            for _ in range(2):  # it may be mended meanwhile
                assert "Mend it" in str(error_of(experiment.ask))
        assert tried == ["ucb1", "ucb1"]
        assert experiment.ask().number == 0
        turns.clear()
        assert other.ask().number == 0
        assert len(turns) == 1


def test_opening_and_closing_leaks_nothing(sqlite_db):
    from pathlib import Path

    start(sqlite_db).close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        with Experiment("homepage", db=sqlite_db) as experiment:
            experiment.ask()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
