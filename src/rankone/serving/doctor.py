"""Is everything as it was written? Pages, checksums, a full replay, a recount, snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankone.errors import RankoneError
from rankone.serving import snapshot
from rankone.serving.fold import Diverged, Fold
from rankone.serving.journal import LEARNED, as_sql
from rankone.serving.replay import from_snapshot, read_tail, replay
from rankone.serving.storage import Storage, open_storage
from rankone.serving.unknown_policy import NOT_KNOWN, PolicyNotKnown
from rankone.specs import amount

_RECOUNT = f"""SELECT row, col, count(*), sum(value) FROM rankone_journal
    WHERE experiment = ? AND kind IN ({as_sql(LEARNED)}) GROUP BY row, col"""  # noqa: S608 - constants


class Finding(NamedTuple):
    """The result of one check."""

    experiment: str  # "" for the database as a whole
    check: str
    ok: bool
    detail: str


def examine(db: str | Path) -> list[Finding]:
    """Check a database and everything in it; nothing is changed."""
    try:
        storage = open_storage(db, read_only=True)
    except RankoneError as error:
        return [Finding("", "open", False, str(error))]
    with contextlib.closing(storage):
        return list(_examine(storage))


def _examine(storage: Storage) -> Iterator[Finding]:
    damage = storage.damage()
    yield Finding("", "pages", not damage, "; ".join(damage[:5]) or "the database finds no fault with itself")
    try:
        names = storage.names()
    except RankoneError as error:
        yield Finding("", "experiments", False, str(error))
        return
    for name, number in names.items():
        try:
            yield from _examine_one(storage, name, number)
        except RankoneError as error:
            yield Finding(name, "journal", False, str(error))
        except Exception as error:  # whatever damaged rows make of the code that reads them
            yield Finding(name, "journal", False, f"cannot be read: {error!r}")


def _examine_one(storage: Storage, name: str, number: int) -> Iterator[Finding]:
    try:
        fold = replay(storage, number)
        verdict = "every choice comes out as it was written"
    except Diverged as diverged:
        fold = replay(storage, number, with_policy=False)
        verdict = f"the policy's code changed since event {diverged}: it starts afresh when next used"
    except PolicyNotKnown as unknown:
        fold = replay(storage, number, with_policy=False)
        verdict = f"left out, {unknown.got}: {NOT_KNOWN}"
    found = f"{amount(fold.seq, 'event')}, {amount(fold.decisions, 'decision')}, all checksums fit"
    yield Finding(name, "journal", True, found)
    yield Finding(name, "replay", True, verdict)
    yield _recount(storage, name, number, fold)
    if fold.state is None:
        return
    for seq, body in storage.snapshots(number):
        yield _compare(storage, name, number, seq, body, fold)


def _recount(storage: Storage, name: str, number: int, fold: Fold) -> Finding:
    """Count outcomes once more, by the database itself and not by the fold."""
    if fold.exclusions:
        return Finding(name, "recount", True, "left out: some outcomes are excluded")
    pulls, clicks = np.zeros_like(fold.pulls), np.zeros_like(fold.clicks)
    for row, col, count, clicked in storage.query(_RECOUNT, (number,)):
        pulls[row, col], clicks[row, col] = count, clicked
    same = np.array_equal(pulls, fold.pulls) and np.array_equal(clicks, fold.clicks)
    return Finding(
        name,
        "recount",
        same,
        f"{amount(int(pulls.sum()), 'outcome')}, {amount(int(clicks.sum()), 'click')}"
        + ("" if same else ", not as replayed"),
    )


def _compare(storage: Storage, name: str, number: int, seq: int, body: bytes, replayed: Fold) -> Finding:
    """Compare a snapshot, moved on to the end of the journal, with the replay."""
    check = f"snapshot at event {seq}"
    found = from_snapshot(storage, number, seq, body)
    if found is None:
        return Finding(
            name, check, False, "damaged, or of another journal: it will be set aside, the journal is read instead"
        )
    try:
        same = snapshot.save(read_tail(storage, number, found)) == snapshot.save(replayed)
    except Diverged:
        same = False
    return Finding(
        name, check, same, "equals the replay, bit for bit" if same else "differs from the replay: delete it"
    )
