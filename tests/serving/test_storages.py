"""What every kind of database must do (`rankone.testing`); a new file in `rankone.serving.storage` is tested by itself."""

import pytest

from rankone.serving.journal import Kind
from rankone.serving.storage.sqlite import SQLiteStorage
from rankone.testing import StorageSuite


class TestEveryStorage(StorageSuite):
    @pytest.fixture(autouse=True)
    def _each(self, db):
        self.db = db


def test_columns_without_a_value_are_not_written(tmp_path):
    """Each column that a statement names takes its time, and most events need few of them."""
    named = []

    class Watched(SQLiteStorage):
        def insert_many(self, statement, rows):
            named.append((statement, {len(row) for row in rows}))
            super().insert_many(statement, rows)

    storage = Watched(tmp_path / "rankone.db")
    number = storage.add("homepage")
    numbers = (Kind.ASK, 7, 0, 1, 2, 3, 0)
    plain = (1, *numbers, b"secret", *(None,) * 7, None), (2, *numbers, None, *(None,) * 7, b"chain")
    rows = [*plain, (3, *numbers, *(None,) * 7, "a token", b"chain")]
    storage.append(number, rows[:2])
    storage.append(number, rows[2:])
    assert [statement.partition("value, ")[2].partition(")")[0] for statement, _ in named] == [
        "secret, chain",
        "token, chain",
    ]
    assert [widths for _, widths in named] == [{1 + 8 + 2}] * 2
    assert storage.tail(number, 0, 10) == rows
    storage.close()
