"""What every kind of database must do (`tests.suites`); a new file in `rankone.live.storage` is tested by itself."""

import pytest

from rankone.live.journal.events import Kind
from rankone.live.storage.sqlite import SQLiteStorage
from tests.suites.storages import StorageSuite


class TestEveryStorage(StorageSuite):
    @pytest.fixture(autouse=True)
    def _each(self, db):
        self.db = db


def test_columns_that_no_event_of_a_group_needs_are_not_written(tmp_path):
    """Each column that a statement names takes its time, and most events need few of them."""
    named = []

    class Watched(SQLiteStorage):
        def insert_many(self, statement, rows):
            named.append((statement.count("{}"), {len(row) for row in rows}))
            super().insert_many(statement, rows)

    storage = Watched(tmp_path / "rankone.db")
    number = storage.add("homepage")
    numbers = (Kind.ASK, 7, 0, 3, 0)
    plain = (1, *numbers, b"secret", *(None,) * 8, None), (2, *numbers, None, *(None,) * 8, b"chain")
    rows = [*plain, (3, *numbers, *(None,) * 7, "a token", None, b"chain")]
    storage.append(number, rows[:2])
    storage.append(number, rows[2:])
    storage.append(number, [])
    assert named == [(1 + 6 + 2, {1 + 6 + 2})] * 2  # the secret and the chain; the token and the chain
    assert storage.tail(number, 0, 10) == rows
    storage.close()
