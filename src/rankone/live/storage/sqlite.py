"""Journals in one SQLite file: one machine, any number of threads and processes.

The write-ahead log lets readers and one writer work at once. Durability, by SQLite's own documentation: "full" survives
a power cut, "normal" survives a crash of the program but may lose the last commits in a power cut, "off" leaves even
that to the operating system.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rankone.errors import ExplainedError, JournalError, StorageError
from rankone.live.storage.driver import UNSURE, DamagedDatabase, Dialect, NotPermitted, Row
from rankone.live.storage.schema import see_to, statements
from rankone.live.storage.sql import Storage
from rankone.live.storage.sqlite_backup import copied_in_use, has_log, mark_of

_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # of a damaged file even SQLite's own words may be no UTF-8
_REPAIR = "restore it from a backup, or name another file"
_FIRST_PAUSE, _LAST_PAUSE = 0.002, 0.0005  # seconds between tries for a lock, at first and in the end
# One who had to wait in the last second knows that it is not alone: after its turn it leaves the lock to others, long
# enough for them to try.
_CROWDED, _TURN, _COURTESY = 1.0, 0.03, 0.002
_OTHER_FILES = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".gz", ".zst", ".zip", ".py", ".ipynb", ".html"}
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SQLiteStorage(Storage):
    """A SQLite file; it is made if it is missing, unless it is opened to be read only."""

    name = "sqlite"
    dialect = Dialect("?", {"integer": "INTEGER", "bytes": "BLOB", "real": "REAL", "clustered": "WITHOUT ROWID"})

    def __init__(
        self, path: str | Path, durability: str = "full", patience: float = 30.0, read_only: bool = False
    ) -> None:
        self.where = str(path)
        self._file: os.stat_result | None = None  # the file we opened, whatever is at its path by now
        self._path, self._patience, self._read_only = Path(path).absolute(), patience, read_only
        self._durability = durability
        self._crowded = 0.0  # until when others are taken to wait for the lock that we have
        self._turn_over = 0.0  # from when on we let them
        self._connection: sqlite3.Connection | None = None
        self._check_place(read_only)
        logged = has_log(self._path)  # to open it makes one: look before
        try:
            if not read_only:
                self.query("PRAGMA journal_mode = WAL")
            self._file = self._path.stat()
            see_to(self, read_only)
            self.copied_in_use = copied_in_use(self._path, self._mark(), logged)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        """Return the connection, made again if it was closed; only the first one makes a file."""
        if self._connection is None:
            mode = "ro" if self._read_only else "rwc" if self._file is None else "rw"
            if mode == "rwc":  # decisions are nobody else's business; the log follows its file's mode
                with contextlib.suppress(OSError):
                    os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            uri = f"file:{quote(str(self._path))}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                if not self._read_only:
                    connection.execute(f"PRAGMA synchronous = {self._durability.upper()}")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_place(self, read_only: bool) -> None:
        if self._path.is_dir():
            do = f"name a file in it: {self.where}/rankone.db, for example"
            raise StorageError(f"a file at {self.where}", "a folder", do)
        if not self._path.parent.is_dir():
            raise StorageError(f"a folder for the database {self.where}", f"no folder {self._path.parent}", "make it")
        if read_only and not self._path.exists():
            raise StorageError("No such file:", self.where, "")
        new = not self._path.exists() or self._path.stat().st_size == 0
        if new and self._path.suffix.lower() in _OTHER_FILES:  # an empty one would become a database
            expected, got = f"a file name for a database at {self.where}", f"one that ends in {self._path.suffix}"
            raise StorageError(expected, got, f"name a new file: {self._path.stem}.db, for example")

    def has(self, name: str) -> bool:
        """Look into SQLite's own table of tables."""
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = {}", (name,)))

    def _explain(self, error: Exception) -> ExplainedError:
        code = _code(error)
        undecodable = isinstance(error, UnicodeError) or (not code and isinstance(error, sqlite3.OperationalError))
        if undecodable or code in _DAMAGE:
            return DamagedDatabase(f"an undamaged SQLite file at {self.where}", str(error), _REPAIR)
        expected = f"the database {self.where} to answer"
        if code == sqlite3.SQLITE_READONLY:
            return NotPermitted(expected, str(error), "open it for writing, and see that the file may be written")
        return StorageError(expected, str(error), "nothing was half written: make room or give access, then try again")

    def reader(self) -> SQLiteStorage:
        """Open the file once more, to read only."""
        self.check_in_place()
        return SQLiteStorage(self._path, patience=self._patience, read_only=True)

    def begin(self, experiments: Iterable[int]) -> None:
        """Take the file's only write lock; others wait.

        SQLite would go on writing to a file that was deleted or replaced, and all of that would be lost: so look first.
        """
        self.check_in_place()
        now = time.monotonic()
        if self._turn_over < now < self._crowded:
            time.sleep(_COURTESY)
        self.query("BEGIN IMMEDIATE")
        if self._turn_over < now:
            self._turn_over = time.monotonic() + _TURN

    def hold_still(self) -> None:
        """Read from one state of the write-ahead log: the one that the next statement finds."""
        self.query("BEGIN")
        self.query("SELECT count(*) FROM rankone_version")

    def check_in_place(self) -> None:
        """Look whether the file is where it was."""
        with contextlib.suppress(FileNotFoundError):
            if self._file is None or os.path.samestat(self._path.stat(), self._file):
                return
        do = "put it back, or open the experiments again; what was answered before is in that file"
        raise StorageError(f"the file {self.where} to stay", "it moved, replaced or deleted", do)

    def commit(self) -> None:
        """Write the log and, with full durability, wait for the disk."""
        try:
            self.query("COMMIT")
        except StorageError as error:
            raise StorageError(error.expected, error.got, f"make room or give access; {UNSURE}") from error

    def rollback(self) -> None:
        """Undo the transaction."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        text = self.dialect.text(statement)
        return self._patiently(lambda connection: connection.execute(text, parameters).fetchall())

    def insert_many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run a statement once per row."""
        text = self.dialect.text(statement)
        self._patiently(lambda connection: connection.executemany(text, rows))

    def _patiently(self, do: Callable[[sqlite3.Connection], Any]) -> Any:
        """Carry out a statement, and try again while others have the lock it needs: it has then done nothing.

        SQLite would wait itself, but ever longer between its tries: while it sleeps, those who have just committed
        take the lock again and again. Here whoever has waited longer tries more often.
        """
        deadline, pause = 0.0, _FIRST_PAUSE
        while True:
            try:
                return do(self._connect())
            except _ERRORS as error:
                if _code(error) != sqlite3.SQLITE_BUSY:
                    raise self._explain(error) from error
                now = time.monotonic()
                deadline = deadline or now + self._patience
                if now >= deadline:
                    raise self._explain(error) from error
            self._crowded = now + _CROWDED
            time.sleep(pause)
            pause = max(_LAST_PAUSE, 0.9 * pause)

    def damage(self) -> list[str]:
        """Return the findings of SQLite's own integrity check, and tables that are not as they were made."""
        try:
            result = [row[0] for row in self.query("PRAGMA integrity_check") if row[0] != "ok"]
            tables = _definitions(self.query)
        except JournalError as error:
            return [error.got]
        with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
            for statement in statements():
                fresh.execute(self.dialect.text(statement))
            made = _definitions(lambda statement: fresh.execute(statement).fetchall())
        return result + [f"{name} was changed" for name in made if tables.get(name) != made[name]]

    def mark_in_use(self) -> None:
        """Write which file this is into the file itself, not only into its log."""
        self.query(f"PRAGMA user_version = {mark_of(self._path)}")
        self.query("PRAGMA wal_checkpoint(PASSIVE)")

    def unmark(self) -> None:
        """Close the file. SQLite takes the log away when the last one does: then the file is whole by itself."""
        self.close()
        with contextlib.suppress(OSError, StorageError):  # the file is gone, or somebody has just opened it
            if not has_log(self._path) and self._mark() == mark_of(self._path):
                self.query("PRAGMA user_version = 0")
        self.close()

    def _mark(self) -> int:
        return int(self.query("PRAGMA user_version")[0][0])

    def close(self) -> None:
        """Close the file; the next statement opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _code(error: Exception) -> int:
    """Return what SQLite calls an error, without the details; 0: it comes from Python, as when a text is no UTF-8."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _definitions(query: Callable[[str], list[Row]]) -> dict[str, str]:
    made = query("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: "".join(text.split()) for name, text in made}
