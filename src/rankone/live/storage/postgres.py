"""Journals in PostgreSQL: any number of machines. An experiment's row is the lock that orders its writers.

Nobody waits for ever. The server ends statements and waits for locks that take longer than our patience, and sessions
that sit in a transaction for a third of it: a program of ours that is frozen there would hold up all others. Who only
reads from one moment holds up no reader and no writer, and may think for half an hour, as a policy may have to be
compiled meanwhile; what it may still read is not vacuumed until then, and changes of tables wait. A server process that
is itself frozen keeps no time: so we do, too. A machine that is gone is noticed by TCP.
"""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankone.errors import InputError, MissingExtra, StorageError
from rankone.live.storage.driver import UNSURE, Dialect, NotPermitted, RolledBack, Row, placeholders
from rankone.live.storage.schema import see_to
from rankone.live.storage.sql import Storage

if TYPE_CHECKING:
    import psycopg

_OPENING = 7_266_266_303  # the advisory lock under which tables are made and changed ("rankone" on a telephone)
_KEYWORDS = re.compile(r"\s*(host|hostaddr|port|dbname|user|service)\s*=")
_IDLE_SHARE = 1 / 3  # of our patience: how long a transaction may send nothing before the server ends it
_STILL = 1800.0  # seconds that somebody who only reads, from one moment, may send nothing
_GRACE = 1.0  # seconds by which one limit follows the other, so that the server can say which it was
_CONNECTING = 30  # seconds, at most, for a machine to give a sign
_TRY_AGAIN = "nothing was half written: see that the server runs, then try again"
_TCP = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class PostgresStorage(Storage):
    """A PostgreSQL database, reached by a ``postgresql://`` address. A lost connection is made again when needed."""

    name = "postgres"
    schemes = ("postgresql", "postgres")
    dialect = Dialect(
        "%s", {"integer": "BIGINT", "bytes": "BYTEA", "real": "DOUBLE PRECISION", "clustered": ""}, escapes={"%": "%%"}
    )

    def __init__(self, url: str, durability: str = "full", patience: float = 30.0, read_only: bool = False) -> None:
        given = _parts(url)
        import psycopg

        self._psycopg = psycopg
        self._url, self._patience, self._read_only = url, patience, read_only
        self._durability = {"full": "on", "normal": "off", "off": "off"}[durability]
        self._connection: psycopg.Connection[Row] | None = None
        self._within = False  # a transaction, which ends with its connection
        self.where = self.shown(url)
        limit = max(2, min(_CONNECTING, int(patience)))
        self._address: dict[str, Any] = {**_TCP, "connect_timeout": limit, "tcp_user_timeout": limit * 1000, **given}
        try:
            see_to(self, read_only)
        except BaseException:
            self.close()
            raise

    @classmethod
    def takes(cls, address: str) -> bool:
        """Return whether an address is one of PostgreSQL's: a URL, or its keywords and values."""
        return super().takes(address) or bool(_KEYWORDS.match(address))

    @classmethod
    def shown(cls, address: str) -> str:
        """Return hosts and database: no user, no password, nothing else."""
        given = _parts(address)
        host = given.get("host") or given.get("hostaddr") or "localhost"
        return f"postgresql://{'localhost' if host.startswith('/') else host}/{given.get('dbname') or ''}"

    def _connect(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            if self._within:
                raise self._psycopg.OperationalError("the connection was lost within a transaction")
            connection = _impatient().connect(autocommit=True, **self._address)
            connection.patience = self._patience + 2 * _GRACE
            settings = {
                "synchronous_commit": self._durability,
                "lock_timeout": _milliseconds(self._patience),
                "statement_timeout": _milliseconds(self._patience + _GRACE),
                "idle_in_transaction_session_timeout": _milliseconds(self._patience * _IDLE_SHARE),
                "default_transaction_read_only": "on" if self._read_only else "off",
            }
            connection.execute("; ".join(f"SET {name} = {value}" for name, value in settings.items()))
            self._connection = connection
        return self._connection

    def has(self, name: str) -> bool:
        """Look along the search path."""
        return bool(self.query("SELECT to_regclass({}) IS NOT NULL", (name,))[0][0])

    @contextlib.contextmanager
    def _explained(self, do: str = _TRY_AGAIN) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            text, errors = " ".join(str(error).split()), self._psycopg.errors
            kind: type[StorageError] = StorageError
            if isinstance(error, errors.InsufficientPrivilege):
                kind = NotPermitted
            elif isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected)):
                kind, do = RolledBack, _TRY_AGAIN
            raise kind(f"the database {self.where} to answer", text, do) from error

    def reader(self) -> PostgresStorage:
        """Open another connection, to read only."""
        return PostgresStorage(self._url, patience=self._patience, read_only=True)

    def begin(self, experiments: Iterable[int]) -> None:
        """Lock the experiments' rows, in one order for everybody.

        Whatever is usual on this server: who has the lock must see what others have committed before.
        """
        numbers = sorted(experiments)
        self._begin("BEGIN ISOLATION LEVEL READ COMMITTED")
        if numbers:
            locked = f"id IN ({placeholders(len(numbers))}) ORDER BY id FOR UPDATE"
            statement = f"SELECT id FROM rankone_experiments WHERE {locked}"  # noqa: S608 - constants
            self.query(statement, numbers)
        else:  # a new experiment is about to be entered
            self.query("SELECT pg_advisory_xact_lock({})", (_OPENING,))

    def hold_still(self) -> None:
        """Read from one snapshot, which the first statement takes."""
        self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.query(f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(_STILL)}")
        self.query("SELECT 1")

    def _begin(self, statement: str) -> None:
        self.query(statement)
        self._within = True

    def commit(self) -> None:
        """Make the transaction durable."""
        with self._explained(UNSURE):
            self._connect().execute("COMMIT")
        self._within = False

    def rollback(self) -> None:
        """Undo the transaction; a broken connection is dropped, which undoes it too."""
        self._within = False
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except self._psycopg.Error:
                self.close()

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        with self._explained():
            cursor = self._connect().execute(self.dialect.text(statement), tuple(parameters))
            return cursor.fetchall() if cursor.description else []

    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row, in one exchange with the server."""
        with self._explained():
            self._connect().cursor().executemany(self.dialect.text(statement), rows)

    def damage(self) -> None:
        """PostgreSQL reports damaged pages as errors when they are read."""

    def close(self) -> None:
        """Close the connection."""
        self._within = False
        if self._connection is not None:
            with contextlib.suppress(self._psycopg.Error):
                self._connection.close()
            self._connection = None


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _parts(address: str) -> dict[str, Any]:
    """Return what an address says, by keyword."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtra("an experiment on PostgreSQL", "postgres") from None
    try:
        return conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # it would quote what may be a password
        do = "write postgresql://user@host/database, with %40 for an @ in a password"
        raise InputError("an address as PostgreSQL reads it", "another", do) from None


@functools.cache
def _impatient() -> Any:
    """Return the class of a connection that is given up when the server does not answer in time."""
    import psycopg

    class Impatient(psycopg.Connection[Row]):
        patience = 30.0

        def wait(self, gen: Any, *arguments: Any, **keywords: Any) -> Any:
            try:
                return super().wait(_in_time(gen, self.patience), *arguments, **keywords)
            except TimeoutError as error:  # what the server is at is not known: nothing more on this connection
                self.pgconn.finish()
                raise psycopg.OperationalError(str(error)) from None

    return Impatient


def _in_time(steps: Generator[Any, Any, Any], patience: float) -> Generator[Any, Any, Any]:
    """Pass on the steps of an exchange with the server, up to a time. They come at least every tenth of a second."""
    deadline, ready = time.monotonic() + patience, None
    try:
        while True:
            ready = yield steps.send(ready)
            if not ready and time.monotonic() > deadline:
                raise TimeoutError(f"no answer within {patience:g} seconds")
    except StopIteration as end:
        return end.value
