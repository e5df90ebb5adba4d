"""Where journals are kept: the few statements rankone needs of a database, written once for all of them.

A storage is used by one thread at a time (the writer's). `begin` locks the named experiments until `commit` or
`rollback`; what is read between is what the last commit left, whoever made it.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from rankone.errors import InputError, JournalError, StorageError
from rankone.serving.journal import COLUMNS, MARKS, VERSION, Kind, as_sql

Row = tuple[Any, ...]

_COLUMNS = ", ".join(COLUMNS)
_INSERT = f"INSERT INTO rankone_journal (experiment, {_COLUMNS}) VALUES (?{', ?' * len(COLUMNS)})"  # noqa: S608 - constants
_SELECT = f"SELECT {_COLUMNS} FROM rankone_journal WHERE experiment = ?"  # noqa: S608 - constants
_ASKED_BY = "SELECT decision FROM rankone_journal WHERE experiment = ? AND kind = ? AND source = ?"

UNSURE = "it may have got in: tell again, ask again with the same key"  # what to do when a commit was not answered
_SOUGHT_AT_ONCE = 500  # decisions looked for in one statement


class Storage(abc.ABC):
    """A database that holds experiments. Statements use ``?`` for parameters; a subclass adapts them to its driver."""

    name: ClassVar[str]  # of this kind of database
    schemes: ClassVar[tuple[str, ...]] = ()  # what its addresses begin with, before ://
    where: str  # the database as messages name it
    kinds: dict[str, str]  # SQL types of this database: "integer", "bytes", "clustered"

    @abc.abstractmethod
    def __init__(self, address: str, durability: str, patience: float, read_only: bool) -> None:
        """Open the database and see that its tables are there (`check_version` where it is only read)."""

    @classmethod
    def takes(cls, address: str) -> bool:
        """Return whether an address is one of this kind of database."""
        scheme, is_address, _ = address.partition("://")
        return bool(is_address) and scheme in cls.schemes

    @classmethod
    def shown(cls, address: str) -> str:
        """Return an address as people may see it: as it is, where it can hold no password."""
        return address

    def tables(self) -> dict[str, str]:
        """Return the statements that make the tables and their indexes, by name."""
        integer, data, clustered = (self.kinds[name] for name in ("integer", "bytes", "clustered"))
        return {
            "rankone_version": f"CREATE TABLE IF NOT EXISTS rankone_version (version {integer} NOT NULL)",
            "rankone_experiments": f"""CREATE TABLE IF NOT EXISTS rankone_experiments (
                id {integer} PRIMARY KEY, name TEXT NOT NULL UNIQUE)""",
            "rankone_journal": f"""CREATE TABLE IF NOT EXISTS rankone_journal (
                experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
                kind {integer} NOT NULL, at {integer} NOT NULL, decision {integer} NOT NULL, row {integer} NOT NULL,
                col {integer} NOT NULL, tag {integer} NOT NULL, value {integer} NOT NULL, secret {data}, key TEXT,
                source TEXT, note TEXT, chain {data}, PRIMARY KEY (experiment, seq)) {clustered}""",
            "rankone_decision": "CREATE INDEX IF NOT EXISTS rankone_decision ON rankone_journal (experiment, decision)",
            "rankone_key": """CREATE UNIQUE INDEX IF NOT EXISTS rankone_key
                ON rankone_journal (experiment, key) WHERE key IS NOT NULL""",
            "rankone_snapshots": f"""CREATE TABLE IF NOT EXISTS rankone_snapshots (
                experiment {integer} NOT NULL REFERENCES rankone_experiments (id), seq {integer} NOT NULL,
                body {data} NOT NULL, PRIMARY KEY (experiment, seq))""",
        }

    def make(self, tables: dict[str, str]) -> None:
        """Make the tables that are missing. Where there are all, no right to make any is needed."""
        if all(self.has(name) for name in tables):
            return
        with self.transaction():
            for statement in tables.values():  # IF NOT EXISTS: who waited for the lock may not see what it waited for
                self.query(statement)

    @contextlib.contextmanager
    def transaction(self, experiments: Iterable[int] = ()) -> Iterator[None]:
        """Begin a transaction, and commit it at the end of the block; nothing of it stays if that is not reached."""
        try:
            self.begin(experiments)
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    @abc.abstractmethod
    def has(self, name: str) -> bool:
        """Return whether there is a table or an index of this name."""

    @abc.abstractmethod
    def reader(self) -> Storage:
        """Open another connection to the same database, to read only."""

    @abc.abstractmethod
    def begin(self, experiments: Iterable[int]) -> None:
        """Begin a transaction that alone may append to these experiments."""

    @abc.abstractmethod
    def hold_still(self) -> None:
        """Begin to read: from now on until `rollback` or `close` everything is as it is at this moment."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Make the transaction durable. After an error nobody knows whether it is (`UNSURE`)."""

    @abc.abstractmethod
    def rollback(self) -> None:
        """Undo the transaction; never raises."""

    @abc.abstractmethod
    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    @abc.abstractmethod
    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row."""

    @abc.abstractmethod
    def damage(self) -> list[str] | None:
        """Return what the database itself finds wrong with its pages; None if it cannot look."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give the connection back; the next statement makes another."""

    def check_version(self) -> None:
        """Refuse a database written by a newer program."""
        try:
            found = self.query("SELECT max(version) FROM rankone_version")[0][0]
        except StorageError as error:
            if "rankone_version" not in error.got:
                raise
            do = "see that the name is right; Experiment(name, rows, cols, db=...) makes the first one"
            raise StorageError(f"a database of experiments at {self.where}", "one without any", do) from None
        if found is None:
            self.query("INSERT INTO rankone_version VALUES (?)", (VERSION,))
        elif found > VERSION:
            raise JournalError(
                f"a journal of version {VERSION} or older", f"version {found}", "upgrade rankone to open it"
            )

    def names(self) -> dict[str, int]:
        """Return the experiments by name."""
        return dict(self.query("SELECT name, id FROM rankone_experiments ORDER BY id"))

    def find(self, name: str) -> int | None:
        """Return the number of an experiment, if there is one of that name."""
        found = self.query("SELECT id FROM rankone_experiments WHERE name = ?", (name,))
        return int(found[0][0]) if found else None

    def number(self, name: str) -> int:
        """Return the number of an experiment that there must be."""
        number = self.find(name)
        if number is None:
            known = ", ".join(self.names()) or "none"
            raise InputError(f"an experiment of this database ({known})", name, "see `rankone experiments`")
        return number

    def add(self, name: str) -> int:
        """Enter a new experiment inside a transaction; the caller knows that there is none of that name."""
        number = int(self.query("SELECT coalesce(max(id), 0) + 1 FROM rankone_experiments")[0][0])
        self.query("INSERT INTO rankone_experiments (id, name) VALUES (?, ?)", (number, name))
        return number

    def append(self, experiment: int, rows: Sequence[Row]) -> None:
        """Add events to the journal."""
        self.insert_many(_INSERT, [(experiment, *row) for row in rows])

    def tail(self, experiment: int, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""
        return self.query(f"{_SELECT} AND seq > ? ORDER BY seq LIMIT ?", (experiment, after, limit))

    def of_decision(self, experiment: int, decision: int) -> list[Row]:
        """Return the events of one decision, oldest first."""
        return self.query(f"{_SELECT} AND decision = ? ORDER BY seq", (experiment, decision))

    def asked_by(self, experiment: int, decisions: Sequence[int], source: str) -> list[int]:
        """Return those of the decisions that were asked with this source."""
        found: list[int] = []
        for first in range(0, len(decisions), _SOUGHT_AT_ONCE):
            some = decisions[first : first + _SOUGHT_AT_ONCE]
            places = ", ".join("?" * len(some))
            statement = f"{_ASKED_BY} AND decision IN ({places}) ORDER BY decision"
            found += [number for (number,) in self.query(statement, (experiment, int(Kind.ASK), source, *some))]
        return found

    def of_key(self, experiment: int, key: str) -> list[Row]:
        """Return the first decision that was asked with an idempotency key."""
        return self.query(f"{_SELECT} AND key = ?", (experiment, key))

    def marks(self, experiment: int) -> list[Row]:
        """Return the rare events that change what the others mean. They are those without a decision."""
        return self.query(f"{_SELECT} AND decision = -1 AND kind IN ({as_sql(MARKS)}) ORDER BY seq", (experiment,))

    def decision_at(self, experiment: int, at: int) -> int:
        """Return the number of decisions asked before the time `at`."""
        statement = (
            "SELECT coalesce(max(decision), -1) + 1 FROM rankone_journal WHERE experiment = ? AND kind = ? AND at < ?"
        )
        return int(self.query(statement, (experiment, int(Kind.ASK), at))[0][0])

    def snapshots(self, experiment: int) -> list[Row]:
        """Return (seq, body) of the snapshots, newest first."""
        return self.query(
            "SELECT seq, body FROM rankone_snapshots WHERE experiment = ? ORDER BY seq DESC", (experiment,)
        )

    def keep_snapshot(self, experiment: int, seq: int, body: bytes) -> None:
        """Store a snapshot and forget all but the one before it."""
        self.query("DELETE FROM rankone_snapshots WHERE experiment = ? AND seq >= ?", (experiment, seq))
        kept = "SELECT max(seq) FROM rankone_snapshots WHERE experiment = ?"
        self.query(f"DELETE FROM rankone_snapshots WHERE experiment = ? AND seq < ({kept})", (experiment, experiment))  # noqa: S608
        self.query("INSERT INTO rankone_snapshots VALUES (?, ?, ?)", (experiment, seq, body))

    def drop_snapshot(self, experiment: int, seq: int) -> None:
        """Set a bad snapshot aside: it is a convenience, the journal is the truth."""
        self.query("DELETE FROM rankone_snapshots WHERE experiment = ? AND seq = ?", (experiment, seq))
