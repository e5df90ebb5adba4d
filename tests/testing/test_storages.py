"""The suite of storages finds what is wrong with one, and says so."""

import contextlib

import pytest

from rankone.errors import ConformanceError
from rankone.live.storage.sqlite import SQLiteStorage
from tests.suites.storages import StorageSuite


def failure(storage_class, test, path):
    class Suite(StorageSuite):
        db = path

        @contextlib.contextmanager
        def open(self, patience=30.0, read_only=False):
            with contextlib.closing(storage_class(path, "off", patience, read_only)) as storage:
                yield storage

    with pytest.raises(ConformanceError, match=r"(?s)^Expected .*, but got .*. ") as found:
        getattr(Suite(), test)()
    return str(found.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rankone.db"


def test_a_storage_that_is_right_passes(path):
    StorageSuite.check(db=path)


class LosesARow(SQLiteStorage):
    def rollback(self):
        super().rollback()
        self._connect().execute("DELETE FROM rankone_journal WHERE seq = 1")


class CannotUndo(SQLiteStorage):
    def rollback(self):
        if self._connect().in_transaction:
            self._connect().execute("COMMIT")


class ForgetsItsCommits(SQLiteStorage):
    def commit(self):
        journal = self.query("SELECT count(*) FROM rankone_journal")
        super().rollback() if journal[0][0] else super().commit()


class ReadsAlong(SQLiteStorage):
    def reader(self):
        return ReadsAlong(self._path, "off", self._patience, read_only=True)

    def hold_still(self):
        pass


class TakesNoTurns(SQLiteStorage):
    def begin(self, experiments):
        self.query("BEGIN")  # SQLite locks at the first change


class ReaderThatWrites(SQLiteStorage):
    def reader(self):
        return SQLiteStorage(self._path, "off", self._patience, False)


class KeepsTexts(SQLiteStorage):
    def insert_many(self, statement, rows):
        super().insert_many(statement, [[value or None for value in row] for row in rows])


class SeesDamage(SQLiteStorage):
    def damage(self):
        return ["a page is upside down"]


@pytest.mark.parametrize(
    ("storage_class", "test", "said"),
    [
        (
            LosesARow,
            "what_is_rolled_back_is_gone_and_nothing_else",
            "1 events after `rollback`, but got 0, without [(1, ",
        ),
        (
            CannotUndo,
            "what_is_rolled_back_is_gone_and_nothing_else",
            "1 events after `rollback`, but got 3, without []",
        ),
        (ForgetsItsCommits, "what_is_committed_stays", "3 events after `commit`, but got 0, without [(1, "),
        (ReadsAlong, "what_is_held_still_does_not_move", "1 events for a reader after `hold_still`, but got 2"),
        (TakesNoTurns, "writers_take_turns", "a second writer of an experiment to be refused with StorageError"),
        (ReaderThatWrites, "a_reader_sees_what_is_committed", "a reader's event to be refused with StorageError"),
        (KeepsTexts, "what_is_committed_stays", "3 events after `commit`, but got 3, without [(2, "),
        (
            SeesDamage,
            "the_tables_are_there_and_whole",
            "no damage to a database that is used as usual, but got ['a page",
        ),
    ],
)
def test_a_storage_that_is_wrong(storage_class, test, said, path):
    assert said in failure(storage_class, f"test_{test}", path)
