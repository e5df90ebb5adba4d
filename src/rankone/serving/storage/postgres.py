"""Journals in PostgreSQL: any number of machines. An experiment's row is the lock that orders its writers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankone.errors import MissingExtra, StorageError
from rankone.serving.storage.sql import Row, Storage

if TYPE_CHECKING:
    import psycopg

_OPENING = 7_266_266_303  # the advisory lock under which the tables are made ("rankone" on a telephone)


class PostgresStorage(Storage):
    """A PostgreSQL database, reached by a ``postgresql://`` address. A lost connection is made again when needed."""

    name = "postgres"
    schemes = ("postgresql", "postgres")
    kinds = {"integer": "BIGINT", "bytes": "BYTEA", "clustered": ""}  # noqa: RUF012 - constant

    def __init__(self, url: str, durability: str = "full", patience: float = 30.0, read_only: bool = False) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("an experiment on PostgreSQL", "postgres") from None
        self._psycopg = psycopg
        self._url, self._patience, self._read_only = url, patience, read_only
        self._settings = {"full": "on", "normal": "off", "off": "off"}[durability]
        self._connection: psycopg.Connection[Row] | None = None
        self.where = (
            urlsplit(url)._replace(netloc=urlsplit(url).hostname or "localhost").geturl()
        )  # no password in messages
        with self._explained():
            self._connect()
        if read_only:
            self.check_version()
        else:
            self._prepare()

    def _connect(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=max(2, int(self._patience)))
            connection.execute(f"SET synchronous_commit = {self._settings}")
            connection.execute(f"SET lock_timeout = {int(self._patience * 1000)}")
            if self._read_only:
                connection.execute("SET default_transaction_read_only = on")
            self._connection = connection
        return self._connection

    def _prepare(self) -> None:
        self.query("BEGIN")
        try:
            self.query("SELECT pg_advisory_xact_lock(?)", (_OPENING,))
            for statement in self.tables():
                self.query(statement)
            self.check_version()
            self.commit()
        except BaseException:
            self.rollback()
            raise

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            text = " ".join(str(error).split())
            do = "nothing was half written: see that the server runs, then try again"
            raise StorageError(f"the database {self.where} to answer", text, do) from error

    def begin(self, experiments: Iterable[int]) -> None:
        """Lock the experiments' rows, in one order for everybody."""
        numbers = sorted(experiments)
        self.query("BEGIN")
        if numbers:
            places = ", ".join("?" for _ in numbers)
            self.query(f"SELECT id FROM rankone_experiments WHERE id IN ({places}) ORDER BY id FOR UPDATE", numbers)  # noqa: S608
        else:  # a new experiment is about to be entered
            self.query("SELECT pg_advisory_xact_lock(?)", (_OPENING,))

    def hold_still(self) -> None:
        """Read from one snapshot: the one that the next statement takes."""
        self.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        """Make the transaction durable."""
        self.query("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction; a broken connection is dropped, which undoes it too."""
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except self._psycopg.Error:
                self.close()

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        with self._explained():
            cursor = self._connect().execute(statement.replace("?", "%s"), tuple(parameters))
            return cursor.fetchall() if cursor.description else []

    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row, in one exchange with the server."""
        with self._explained():
            self._connect().cursor().executemany(statement.replace("?", "%s"), rows)

    def damage(self) -> None:
        """PostgreSQL reports damaged pages as errors when they are read."""

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with contextlib.suppress(self._psycopg.Error):
                self._connection.close()
            self._connection = None
