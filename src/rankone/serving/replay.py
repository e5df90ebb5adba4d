"""Reading a journal: folding it from its beginning or from a snapshot, and over what came since.

Nothing here takes a lock or writes: it sees what is committed, whoever committed it.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from rankone.serving import snapshot
from rankone.serving.fold import Fold
from rankone.serving.journal import Events, damaged, of_rows, read_groups
from rankone.serving.storage import Storage

_CHUNK = 50_000  # events read at a time


def replay(storage: Storage, number: int, with_policy: bool = True) -> Fold:
    """Fold a whole journal; without its policy, only what is counted."""
    with _cycles_ignored():
        return read_tail(storage, number, begin(storage, number, with_policy))


def begin(storage: Storage, number: int, with_policy: bool = True) -> Fold:
    """Return the fold of an experiment before its first event."""
    return Fold(_marks(storage, number), with_policy)


def read_tail(storage: Storage, number: int, fold: Fold) -> Fold:
    """Apply the events behind those a fold has seen."""
    for _ in each_stretch(storage, number, fold):
        pass
    return fold


def each_stretch(storage: Storage, number: int, fold: Fold) -> Iterator[Events]:
    """Apply the events behind those a fold has seen, and yield them stretch by stretch."""
    limit = _CHUNK
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


@contextlib.contextmanager
def _cycles_ignored() -> Iterator[None]:
    """Do not look for cycles among the many small objects of a journal: there are none, and it doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
