"""Backups of a database of experiments, and the way back: to its end, to an event, or to a time.

SQLite files are copied by SQLite's own online backup, while services write. PostgreSQL has its own tools.
"""

import contextlib
import errno
import itertools
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from rankone.errors import InputError, StorageError
from rankone.live.storage import is_file, open_storage, shown, sqlite_backup
from rankone.live.storage.sqlite_backup import (
    COMPLETE,
    Position,
    chain_at,
    has_log,
    is_backup,
    is_damaged,
    log_of,
    mark_of,
    positions,
    read_mark,
)
from rankone.specs import amount
from rankone.writing import PRIVATE, sync_folder, whole_file

log = logging.getLogger("rankone.live")

_NO_SYNC = {errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP}  # a folder not to be read; some shares
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite puts behind the name of its own files


def backup(db: str | Path, file: str | Path, *, over: bool = False) -> list[Position]:
    """Copy a SQLite database to a file, whole, as it is at one moment; return how far each journal in it goes.

    Services go on meanwhile. The file appears when all of it is there and sound, or not at all.

    >>> import tempfile
    >>> from rankone import Experiment
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Experiment("homepage", ["A", "B"], ["1", "2"], policy="ucb1", db=folder / "rankone.db") as homepage:
    ...     _ = homepage.ask()
    ...     [found.events for found in backup(folder / "rankone.db", folder / "monday.backup")]
    [2]
    """
    source, to = _sqlite(db, "pg_dump"), Path(file)
    open_storage(source, read_only=True).close()  # says what is wrong with it
    _check_place(to, "the backup")
    if to.exists():
        if to.samefile(source):
            raise InputError("another file than the database itself", str(file), "name a new file")
        if not over:
            raise InputError(f"a new file for the backup, not {file}", "one that is there", "pass --over to replace it")
        if not is_backup(to.resolve()):  # a database may be in use, and its log would be taken for the new file's
            do = "name another file; to put a backup in the place of a database, use `rankone restore`"
            raise InputError(f"a backup to replace at {file}", "something else", do)
    with _new_database(to) as part:
        sqlite_backup.copy(source, part, COMPLETE)
        result = positions(part)
    _sync_name(to)
    return result


def restore(
    file: str | Path,
    db: str | Path,
    *,
    upto: Mapping[str, int] | None = None,
    until: float | None = None,
    over: bool = False,
    plain: bool = False,
) -> list[Position]:
    """Make a SQLite database of a backup; return how far each journal in it goes.

    Args:
        file: the backup.
        db: where the database shall be.
        upto: by experiment, the last event to restore; whole commits are, so it may end a few events before.
        until: the time, in seconds since 1970, up to which to restore all other experiments.
        over: replace a database that is there; it is kept beside the new one, with `.before` behind its name
            (`.before.2` and so on where that is taken), also if it is damaged; the log says where.
        plain: take a file that was copied while a service wrote to it, and may lack events.
    """
    source, to = _sqlite(file, "pg_restore"), _sqlite(db, "pg_restore")
    with contextlib.closing(open_storage(source, read_only=True)) as storage:
        copied = storage.copied_in_use
    _check_place(to, "the database")
    if to.exists() and to.samefile(source):
        raise InputError("another file than the backup itself", str(db), "name the database to restore to")
    if copied and not plain:
        got = "one that was copied while a service wrote to it, without its -wal file: it may lack the last events"
        raise InputError(
            f"a whole copy at {file}", got, "take one of `rankone backup`, or pass --plain to do with this"
        )
    if read_mark(source) == mark_of(source):
        raise InputError(f"a backup at {file}", "a database that a service uses", "take a backup of it first")
    with _new_database(to) as part:
        sqlite_backup.copy(source, part, mark=0)
        sqlite_backup.cut(part, upto or {}, None if until is None else int(until * 1e6))
        if to.exists():
            _give_way(to.resolve(), part, over)
        elif has_log(to):
            got = f"{log_of(to).name}, the rest of a database that was there"
            raise StorageError(f"nothing beside {to}", got, "move it away: it would be taken for this database's")
        result = positions(part)
    _sync_name(to)
    return result


@contextlib.contextmanager
def _new_database(path: Path) -> Iterator[Path]:
    """Yield a place to make a database at, which appears at its own when it is whole; nothing is left beside it."""
    with whole_file(path, mode=PRIVATE) as part:
        try:
            yield part
        except StorageError as error:  # say where it was to be
            raise type(error)(error.expected.replace(str(part), str(path)), error.got, error.do) from error
        finally:  # a full disk leaves SQLite's own journal there
            for ending in _BESIDE:
                Path(f"{part}{ending}").unlink(missing_ok=True)


def _sync_name(path: Path) -> None:
    """Return when the name of a file is on the disk, too, where the folder can be asked for that: the file is whole."""
    try:
        sync_folder(path.resolve().parent)
    except StorageError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in _NO_SYNC:
            raise
        log.warning("%s is whole, but its folder cannot be synced: a power cut now may take away its name", path)


def _give_way(old: Path, new: Path, over: bool) -> None:
    """Keep the database that is there under another name, if it may be replaced."""
    try:
        sqlite_backup.settle(old)
        lost = [each for each in positions(old) if chain_at(new, each.experiment, each.events) != each.chain]
        newer = ", ".join(f"'{result.experiment}' with {amount(result.events, 'event')}" for result in lost)
        got = f"one that has what the backup does not: {newer}" if lost else "one with nothing that the backup lacks"
        unread = ""
    except StorageError as error:
        if not is_damaged(error):
            raise
        got, unread = f"one that cannot be read: {error.got}", f", unread: {error.got}"
    if not over:
        raise InputError(f"no database at {old}", got, "pass --over to replace it; it is kept beside the new one")
    kept = _free_name(old)
    try:
        os.link(old, kept)
    except OSError:  # not every file system has links
        kept.touch(PRIVATE)  # until the copy has the mode of what is copied
        shutil.copy2(old, kept)
    for ending in _BESIDE:  # what is left there is of a damaged one, and would be taken for the new one's
        with contextlib.suppress(FileNotFoundError):
            Path(f"{old}{ending}").rename(f"{kept}{ending}")
    log.warning("the database that was there is kept as %s%s", kept, unread)


def _free_name(old: Path) -> Path:
    names = itertools.chain([f"{old.name}.before"], (f"{old.name}.before.{number}" for number in itertools.count(2)))
    return next(kept for kept in map(old.with_name, names) if not kept.exists())


def _sqlite(db: str | Path, tool: str) -> Path:
    if not is_file(db):
        do = f"use PostgreSQL's own {tool}: docs/backup.md has the commands"
        raise InputError("a SQLite file", shown(db), do)
    return Path(db)


def _check_place(path: Path, what: str) -> None:
    if path.is_dir():
        raise InputError(f"a file for {what}", f"{path}, a folder", f"try {path / 'rankone.backup'}")
    if path.name.endswith(_BESIDE):
        raise InputError(f"a name for {what} that SQLite does not use itself", path.name, "name another file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"a folder for {path}", f"no folder {path.parent}", "make it")
