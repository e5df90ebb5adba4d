"""Journals in another kind of database (here SQLite again, in its plainest form)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from rankone.errors import StorageError
from rankone.live.storage.driver import Dialect
from rankone.live.storage.schema import see_to
from rankone.live.storage.sql import Row, Storage


class MyDatabase(Storage):
    """A file at my-database://PATH."""

    name = "my-database"
    schemes = ("my-database",)
    dialect = Dialect("?", {"integer": "INTEGER", "bytes": "BLOB", "real": "REAL", "clustered": ""})

    def __init__(self, address: str, durability: str, patience: float, read_only: bool) -> None:
        self.where, self._read_only, self._patience = address, read_only, patience
        self._connection: sqlite3.Connection | None = None
        if not read_only:
            self.query("PRAGMA journal_mode = WAL")
        see_to(self, read_only)

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            uri = f"file:{self.where.partition('://')[2]}?mode={'ro' if self._read_only else 'rwc'}"
            self._connection = sqlite3.connect(
                uri, uri=True, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
        return self._connection

    def has(self, name: str) -> bool:
        """Look into the table of tables."""
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = {}", (name,)))

    def reader(self) -> MyDatabase:
        """Open the file once more."""
        return MyDatabase(self.where, "off", self._patience, read_only=True)

    def begin(self, experiments: Iterable[int]) -> None:
        """Take the only write lock."""
        self.query("BEGIN IMMEDIATE")

    def hold_still(self) -> None:
        """Read from one state of the file."""
        self.query("BEGIN")
        self.query("SELECT count(*) FROM rankone_version")

    def commit(self) -> None:
        """Make the transaction durable."""
        self.query("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        try:
            return self._connect().execute(self.dialect.text(statement), parameters).fetchall()
        except sqlite3.Error as error:
            raise StorageError(f"the database {self.where} to answer", str(error), "try again") from error

    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row."""
        for row in rows:
            self.query(statement, row)

    def damage(self) -> list[str] | None:
        """Return nothing: it cannot look."""
        return None

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
