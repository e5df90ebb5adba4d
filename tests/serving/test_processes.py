"""Many processes on one database; disks that fill up; databases that are locked or gone."""

import sqlite3

import pytest

from rankone.errors import InputError, StorageError
from rankone.serving import Database, Experiment
from rankone.serving.doctor import examine

from .helpers import error_of, start
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
        assert len({row[10] for row in experiment.database.storage.tail(1, 0, 10_000)} - {None}) == 32
    assert all(finding.ok for finding in examine(db))


def test_a_full_disk_is_an_error_and_heals(sqlite_db):
    start(sqlite_db).close()
    answers = CONTEXT.Queue()
    process = CONTEXT.Process(target=fill_the_disk, args=(str(sqlite_db), 300_000, answers))
    process.start()
    kind, message = answers.get(timeout=300)
    assert kind == "StorageError", message
    assert "nothing was half written" in message
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
    storage = experiment.database.storage
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


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_experiment_survives_a_fork(sqlite_db):
    import os

    experiment = start(sqlite_db)
    experiment.ask()
    child = os.fork()
    if child == 0:
        try:
            experiment.tell(experiment.ask().id, True)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert experiment.ask().number == 2
    assert all(finding.ok for finding in examine(sqlite_db))


def test_opening_and_closing_leaks_nothing(sqlite_db):
    from pathlib import Path

    start(sqlite_db).close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        with Experiment("homepage", db=sqlite_db) as experiment:
            experiment.ask()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
