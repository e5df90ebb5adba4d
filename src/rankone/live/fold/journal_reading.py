"""Reading a journal: folding it from its beginning or from a snapshot, and over what came since.

Nothing here takes a lock or writes: it sees what is committed, whoever committed it.
"""

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from rankone.errors import JournalError
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Diverged, Fold, Stale
from rankone.live.fold.list_fold import new_fold
from rankone.live.fold.unknown_policy import PolicyNotKnown
from rankone.live.journal.events import UNFIT, Events, damaged, of_rows, read_groups
from rankone.live.storage import Storage
from rankone.live.storage.driver import Row

_CHUNK = 50_000  # events read at a time


class WholeJournal(NamedTuple):
    """A journal that was read to its end."""

    fold: Fold
    snapshot_seq: int  # of the snapshot it was read from; 0: from the beginning
    bad: list[int]  # snapshots that are damaged or belong to another journal
    diverged: Diverged | None  # where the policy's code chooses otherwise by now: it is folded without its policy


class Journal(Protocol):
    """What is read of a journal: a database has it, or a database and the files to which its first part was moved."""

    def tail(self, experiment: int, after: int, limit: int) -> list[Row]:
        """Return the events behind event `after`, oldest first."""

    def marks(self, experiment: int) -> list[Row]:
        """Return the rare events that change what the others mean."""

    def base(self, experiment: int) -> tuple[int, Any] | None:
        """Return (seq, body) of what is known where the journal begins; None: it has all its events."""

    def base_seq(self, experiment: int) -> int:
        """Return the last event that was moved to a file."""

    def last_event(self, experiment: int) -> int:
        """Return the number of the last event."""

    def last_decision(self, experiment: int) -> int:
        """Return the number of the last decision."""


def read_whole(storage: Storage, number: int) -> WholeJournal:
    """Fold a journal to its end, from its newest snapshot where there is a good one."""
    diverged: Diverged | None = None
    with_policy = True
    while True:
        try:
            if not with_policy:
                return WholeJournal(replay(storage, number, with_policy=False), 0, [], diverged)
            with cycles_ignored:
                bad: list[int] = []
                for seq, body in storage.snapshots(number):
                    result = from_snapshot(storage, number, seq, body)
                    if result is not None:
                        return WholeJournal(read_tail(storage, number, result), seq, bad, None)
                    bad.append(seq)
                return WholeJournal(replay(storage, number), 0, bad, None)
        except Stale:  # outcomes were excluded while it was read
            continue
        except PolicyNotKnown:
            with_policy = False
        except Diverged as where:
            with_policy, diverged = False, where


def replay(storage: Journal, number: int, with_policy: bool = True) -> Fold:
    """Fold a whole journal, or all of it that is there; without its policy, only what is counted."""
    with cycles_ignored:
        return read_tail(storage, number, begin(storage, number, with_policy))


def begin(
    storage: Journal, number: int, with_policy: bool = True, pretended: Sequence[Row] = (), lists: bool = False
) -> Fold:
    """Return the fold of an experiment before its first event, or before the first that is still there.

    `pretended` are rare events that are not written yet; `lists` says that it will be a ranking. The rare events and
    the base are of one moment: each change of the base adds a rare event in the same commit.
    """
    with reading_notes():
        marks, before = _marks(storage, number, pretended), -1
        while len(marks) != before:
            base, before = storage.base(number), len(marks)
            marks = _marks(storage, number, pretended)
        fold = new_fold(marks, with_policy, lists)
        return fold if base is None else snapshot.load_base(fold, *base)


def read_tail(storage: Journal, number: int, fold: Fold, limit: int = _CHUNK) -> Fold:
    """Apply the events behind those a fold has seen, to the end."""
    for _ in each_to_end(storage, number, fold, limit):
        pass
    return fold


def each_to_end(storage: Journal, number: int, fold: Fold, limit: int = _CHUNK) -> Iterator[Events]:
    """Apply all events behind those a fold has seen, and yield them stretch by stretch.

    At a damaged page a database may stop and say nothing: a journal whose end cannot be reached is refused.
    """
    while True:
        before = fold.seq
        yield from each_stretch(storage, number, fold, limit)
        if storage.last_event(number) <= fold.seq and storage.last_decision(number) < fold.decisions:
            return
        if fold.seq == before:  # otherwise others may be writing
            with _moved(storage, number, fold):
                raise damaged(fold.seq + 1, "events missing from number")


def each_stretch(storage: Journal, number: int, fold: Fold, limit: int = _CHUNK) -> Iterator[Events]:
    """Apply the events behind those a fold has seen, and yield them stretch by stretch of about `limit` events.

    Raises `Stale` where they are in an archive by now.
    """
    with _moved(storage, number, fold):
        for _, events in each_upto(storage, number, fold, 2**62, limit):
            yield events


def each_upto(
    storage: Journal, number: int, fold: Fold, last: int, limit: int = _CHUNK
) -> Iterator[tuple[list[Row], Events]]:
    """Apply the events behind those a fold has seen, up to event `last`; yield rows and events stretch by stretch."""

    def tail(after: int, most: int) -> list[Row]:
        return storage.tail(number, after, min(most, last - after)) if after < last else []

    for rows, events, chain in each_checked(tail, fold.seq, fold.chain, limit):
        fold.apply(events)
        fold.chain = chain
        yield rows, events


def each_checked(
    tail: Callable[[int, int], list[Row]], seq: int, chain: bytes, limit: int = _CHUNK
) -> Iterator[tuple[list[Row], Events, bytes]]:
    """Yield what follows event `seq` with checksum `chain`: rows and events of whole groups, and their checksum."""
    while rows := tail(seq, limit):
        events, chain = read_groups(rows, seq, chain)
        if len(events):
            seq += len(events)
            yield rows[: len(events)], events, chain
        elif len(rows) < limit:
            raise damaged(seq + 1)  # the end of a group is missing
        else:
            limit *= 2
        if len(rows) < limit and len(events) == len(rows):
            break


@contextlib.contextmanager
def _moved(storage: Journal, number: int, fold: Fold) -> Iterator[None]:
    """Tell events that are missing because they were archived meanwhile from those that should be there."""
    try:
        yield
    except JournalError:
        if storage.base_seq(number) > fold.seq:
            raise Stale from None
        raise


def from_snapshot(storage: Storage, number: int, seq: int, body: bytes) -> Fold | None:
    """Return the fold of a snapshot; None if it is damaged or does not belong to the journal."""
    with reading_notes():
        return snapshot.load(body, seq, _marks(storage, number), lambda at: chain_at(storage, number, at))


@contextlib.contextmanager
def reading_notes() -> Iterator[None]:
    """Say that a journal is damaged, whatever its rare events make of the code that reads them before all others.

    Their checksums are looked at only when their turn comes.
    """
    try:
        yield
    except PolicyNotKnown:
        raise
    except (*UNFIT, LookupError, AttributeError, RecursionError) as error:
        do = "restore the database from a backup"
        raise JournalError("an undamaged journal", f"a note that cannot be read: {error!r}"[:300], do) from error


def _marks(storage: Journal, number: int, pretended: Sequence[Row] = ()) -> Events:
    return of_rows([*storage.marks(number), *pretended])


def chain_at(storage: Storage, number: int, seq: int) -> bytes | None:
    """Return the checksum of a journal behind an event; None if that does not end a commit, or is not there."""
    result = storage.tail(number, seq - 1, 1)
    return bytes(result[0][-1]) if result and result[0][0] == seq and result[0][-1] is not None else None


class _CyclesIgnored:
    """Entered to look for no cycles among the many small objects of a journal: there are none, and it doubles the time.

    Journals are read by several threads at once: the first to come turns the search off, the last to leave on again.
    """

    def __init__(self) -> None:
        self._lock, self._readers, self._enabled = threading.Lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            if not self._readers:
                self._enabled = gc.isenabled()
                gc.disable()
            self._readers += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._readers -= 1
            if not self._readers and self._enabled:
                gc.enable()


cycles_ignored = _CyclesIgnored()
