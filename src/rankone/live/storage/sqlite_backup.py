"""Copies of a SQLite file that hold all of it, made while others write; and how a copy that does not is noticed.

What was committed last is in the write-ahead log, a file of its own, until SQLite moves it. Whoever copies the main
file alone, while a service runs, gets an older state that looks sound. So a service writes into the main file which
file it is (the number of its inode, in SQLite's `user_version`, which nothing else uses) and takes that out when it
ends: a file that says it is another one, and has no log beside it, was copied in use.
"""

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from rankone.errors import InputError, StorageError
from rankone.live.journal.events import Kind

COMPLETE = 0x524B  # the mark of a file that `copy` made: all is in it


class Position(NamedTuple):
    """How far a journal goes."""

    experiment: str
    events: int
    at: int  # of the last event, in microseconds since 1970
    chain: bytes  # the checksum of the last event, which stands for all before it


def log_of(path: Path) -> Path:
    """Return where the write-ahead log of a file is while it is in use."""
    return path.with_name(f"{path.name}-wal")


def has_log(path: Path) -> bool:
    """Return whether there is something in the log of a file; one who only reads leaves an empty one behind."""
    try:
        return log_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def mark_of(path: Path) -> int:
    """Return which file this is, as a number that another file has hardly ever."""
    result = path.stat()
    return 1 + COMPLETE + zlib.crc32(f"{result.st_dev} {result.st_ino}".encode()) % (2**31 - COMPLETE - 2)


def copied_in_use(path: Path, mark: int, logged: bool) -> bool:
    """Return whether a file with this mark, and a log or none, was copied in use without its log."""
    return mark not in (0, COMPLETE, mark_of(path)) and not logged


def read_mark(path: Path) -> int:
    """Return the mark of a file, read by SQLite.

    Never open a database in another way: when a process closes a file, the system takes away all its locks on it, also
    those of its connections. Another process would then believe to be alone, and remove the log under them.
    """
    with _opened(path, "ro") as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_backup(path: Path) -> bool:
    """Return whether a file is as `copy` made it: who opens one to write gives it a log, and that stays noted in it."""
    with contextlib.suppress(StorageError), _opened(path, "ro") as connection:
        ((mode,),) = connection.execute("PRAGMA journal_mode").fetchall()
        return mode == "delete" and read_mark(path) == COMPLETE and not has_log(path)
    return False


def is_damaged(error: StorageError) -> bool:
    """Return whether a file could not be read for what is in it, and not because it is in use or out of reach."""
    cause = error.__cause__
    wrong = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last: it lacks our tables
    return isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode & 0xFF in wrong


def copy(source: Path, to: Path, mark: int) -> None:
    """Copy a whole SQLite file, as it is at one moment, by SQLite's own means; nobody has to wait meanwhile."""
    with _opened(source, "ro") as old, _opened(to, "rwc") as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        new.execute(f"PRAGMA user_version = {mark}")
        result = new.execute("PRAGMA quick_check(3)").fetchall()
        if result != [("ok",)]:
            got = "; ".join(str(row[0]) for row in result)
            raise StorageError(f"a sound copy of {source}", got, f"see `rankone doctor {source}`")


def positions(path: Path) -> list[Position]:
    """Return how far each journal of a file goes."""
    statement = """SELECT name, seq, at, chain FROM rankone_journal JOIN (SELECT experiment AS of, max(seq) AS last
        FROM rankone_journal WHERE chain IS NOT NULL GROUP BY 1) ON experiment = of AND seq = last
        JOIN rankone_experiments ON id = experiment ORDER BY id"""
    with _opened(path, "ro") as connection:
        return [Position(*row) for row in connection.execute(statement)]


def chain_at(path: Path, experiment: str, seq: int) -> bytes | None:
    """Return the checksum of a journal at an event."""
    statement = """SELECT chain FROM rankone_journal JOIN rankone_experiments ON id = experiment
        WHERE name = ? AND seq = ?"""
    with _opened(path, "ro") as connection:
        result = connection.execute(statement, (experiment, seq)).fetchone()
        return result[0] if result else None


def cut(path: Path, upto: Mapping[str, int], until: int | None) -> None:
    """Take out what came behind an event of an experiment, or behind a time: whole commits, so that checksums fit."""
    with _opened(path, "rw") as connection:
        connection.execute("BEGIN IMMEDIATE")
        known = dict(connection.execute("SELECT name, id FROM rankone_experiments").fetchall())
        for name, last in upto.items():
            if name not in known:
                there = ", ".join(known) or "none"
                raise InputError(f"an experiment of the backup ({there})", name, "name one of them")
            ((end,),) = connection.execute("SELECT max(seq) FROM rankone_journal WHERE experiment = ?", (known[name],))
            if last > end:
                raise InputError(f"an event of '{name}' that the backup has, up to {end}", last, "take a newer backup")
        for name, number in known.items():
            if name in upto:
                _cut_one(connection, name, number, "seq <= ?", upto[name])
            elif until is not None:
                _cut_one(connection, name, number, "at <= ?", until)
        connection.execute("COMMIT")


def _cut_one(connection: sqlite3.Connection, name: str, number: int, condition: str, value: int) -> None:
    statement = "SELECT coalesce(max(seq), 0) FROM rankone_journal WHERE experiment = ? AND chain IS NOT NULL"
    ((end,),) = connection.execute(f"{statement} AND {condition}", (number, value)).fetchall()
    archive = "SELECT coalesce(max(seq), 0) FROM rankone_journal WHERE experiment = ? AND kind = ?"
    ((archived,),) = connection.execute(archive, (number, int(Kind.ARCHIVE))).fetchall()
    if 0 < end < archived:
        do = f"take a backup from before that, or restore '{name}' to event {archived} or later"
        raise InputError(f"an event of '{name}' behind its last archive, event {archived}", f"event {end}", do)
    sums = "SELECT count(*) FROM rankone_journal WHERE experiment = ? AND kind = ? AND seq > ?"
    if end and connection.execute(sums, (number, int(Kind.SUMS), end)).fetchone()[0]:
        do = "restore all of it: who was counted is known for the end of the backup only"
        raise InputError(f"an event of '{name}' behind the last rows that were taken in", f"event {end}", do)
    for table in ("rankone_journal", "rankone_snapshots"):
        connection.execute(f"DELETE FROM {table} WHERE experiment = ? AND seq > ?", (number, end))  # noqa: S608 - constants
    if not end:  # it was made later
        for table in ("rankone_exposures", "rankone_clicks"):
            connection.execute(f"DELETE FROM {table} WHERE experiment = ?", (number,))  # noqa: S608 - constants
        connection.execute("DELETE FROM rankone_experiments WHERE id = ?", (number,))


def settle(path: Path) -> None:
    """Bring a file that is to be replaced to rest, with all that its log holds; refuse one that others have open."""
    with _opened(path, "rw") as connection:
        try:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            do = "end the service and all else that uses it, then try again"
            raise StorageError(f"{path} to be at rest", "a database in use", do) from None


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a file, and say what SQLite cannot do in one sentence."""
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StorageError(f"to read or write {path}", str(error), "make room, or see `rankone doctor`") from error
