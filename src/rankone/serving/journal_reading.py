"""Reading a journal: folding it from its beginning or from a snapshot, and over what came since.

Nothing here takes a lock or writes: it sees what is committed, whoever committed it.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import NamedTuple

from rankone.serving import snapshot
from rankone.serving.fold import Diverged, Fold, Stale
from rankone.serving.journal import Events, damaged, of_rows, read_groups
from rankone.serving.storage import Storage
from rankone.serving.unknown_policy import PolicyNotKnown

_CHUNK = 50_000  # events read at a time


class WholeJournal(NamedTuple):
    """A journal that was read to its end."""

    fold: Fold
    snapshot_seq: int  # of the snapshot it was read from; 0: from the beginning
    bad: list[int]  # snapshots that are damaged or belong to another journal
    diverged: Diverged | None  # where the policy's code chooses otherwise by now: it is folded without its policy


def read_whole(storage: Storage, number: int) -> WholeJournal:
    """Fold a journal to its end, from its newest snapshot where there is a good one."""
    diverged: Diverged | None = None
    with_policy = True
    while True:
        try:
            if not with_policy:
                return WholeJournal(replay(storage, number, with_policy=False), 0, [], diverged)
            with _cycles_ignored:
                bad: list[int] = []
                for seq, body in storage.snapshots(number):
                    found = from_snapshot(storage, number, seq, body)
                    if found is not None:
                        return WholeJournal(read_tail(storage, number, found), seq, bad, None)
                    bad.append(seq)
                return WholeJournal(replay(storage, number), 0, bad, None)
        except Stale:  # outcomes were excluded while it was read
            continue
        except PolicyNotKnown:
            with_policy = False
        except Diverged as where:
            with_policy, diverged = False, where


def replay(storage: Storage, number: int, with_policy: bool = True) -> Fold:
    """Fold a whole journal; without its policy, only what is counted."""
    with _cycles_ignored:
        return read_tail(storage, number, begin(storage, number, with_policy))


def begin(storage: Storage, number: int, with_policy: bool = True) -> Fold:
    """Return the fold of an experiment before its first event."""
    return Fold(_marks(storage, number), with_policy)


def read_tail(storage: Storage, number: int, fold: Fold) -> Fold:
    """Apply the events behind those a fold has seen, to the end."""
    for _ in each_to_end(storage, number, fold):
        pass
    return fold


def each_to_end(storage: Storage, number: int, fold: Fold) -> Iterator[Events]:
    """Apply all events behind those a fold has seen, and yield them stretch by stretch.

    At a damaged page a database may stop and say nothing: a journal whose end cannot be reached is refused.
    """
    while True:
        before = fold.seq
        yield from each_stretch(storage, number, fold)
        if storage.last_event(number) <= fold.seq and storage.last_decision(number) < fold.decisions:
            return
        if fold.seq == before:  # otherwise others may be writing
            raise damaged(fold.seq + 1, "events missing from number")


def each_stretch(storage: Storage, number: int, fold: Fold, limit: int = _CHUNK) -> Iterator[Events]:
    """Apply the events behind those a fold has seen, and yield them stretch by stretch of about `limit` events."""
    while rows := storage.tail(number, fold.seq, limit):
        events, chain = read_groups(rows, fold.seq, fold.chain)
        if len(events):
            fold.apply(events)
            fold.chain = chain
            yield events
        elif len(rows) < limit:
            raise damaged(fold.seq + 1)  # the end of a group is missing
        else:
            limit *= 2
        if len(rows) < limit and len(events) == len(rows):
            break


def from_snapshot(storage: Storage, number: int, seq: int, body: bytes) -> Fold | None:
    """Return the fold of a snapshot; None if it is damaged or does not belong to the journal."""
    return snapshot.load(body, seq, _marks(storage, number), lambda at: _chain_at(storage, number, at))


def _marks(storage: Storage, number: int) -> Events:
    """Return the rare events of a journal."""
    return of_rows(storage.marks(number))


def _chain_at(storage: Storage, number: int, seq: int) -> bytes | None:
    found = storage.tail(number, seq - 1, 1)
    return bytes(found[0][-1]) if found and found[0][0] == seq and found[0][-1] is not None else None


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


_cycles_ignored = _CyclesIgnored()
