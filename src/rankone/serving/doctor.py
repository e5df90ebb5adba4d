"""Is everything as it was written? Pages, checksums, a full replay, a recount, snapshots."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankone.errors import RankoneError
from rankone.serving import snapshot
from rankone.serving.database import Database, Folded
from rankone.serving.fold import Diverged, Fold
from rankone.serving.journal import Kind
from rankone.serving.report import amount

_RECOUNT = """SELECT row, col, count(*), sum(value) FROM rankone_journal
    WHERE experiment = ? AND kind IN (?, ?, ?) GROUP BY row, col"""


class Finding(NamedTuple):
    """The result of one check."""

    experiment: str  # "" for the database as a whole
    check: str
    ok: bool
    detail: str


def examine(db: str | Path) -> list[Finding]:
    """Check a database and everything in it; nothing is changed."""
    try:
        database = Database(db, read_only=True)
    except RankoneError as error:
        return [Finding("", "open", False, str(error))]
    with database:
        return list(_examine(database))


def _examine(database: Database) -> Iterator[Finding]:
    damage = database.storage.damage()
    yield Finding("", "pages", not damage, "; ".join(damage[:5]) or "the database finds no fault with itself")
    try:
        names = database.storage.names()
    except RankoneError as error:
        yield Finding("", "experiments", False, str(error))
        return
    for name, number in names.items():
        try:
            yield from _examine_one(database, name, number)
        except RankoneError as error:
            yield Finding(name, "journal", False, str(error))
        except Exception as error:  # whatever damaged rows make of the code that reads them
            yield Finding(name, "journal", False, f"cannot be read: {error!r}")


def _examine_one(database: Database, name: str, number: int) -> Iterator[Finding]:
    try:
        fold = database.replay(number)
        replay = "every choice comes out as it was written"
    except Diverged as diverged:
        fold = database.replay(number, with_policy=False)
        replay = f"the policy's code changed since event {diverged}: it starts afresh when next used"
    found = f"{amount(fold.seq, 'event')}, {amount(fold.decisions, 'decision')}, all checksums fit"
    yield Finding(name, "journal", True, found)
    yield Finding(name, "replay", True, replay)
    yield _recount(database, name, number, fold)
    if fold.state is None:
        return
    for seq, body in database.storage.snapshots(number):
        yield _compare(database, name, Folded(number), seq, body, fold)


def _recount(database: Database, name: str, number: int, fold: Fold) -> Finding:
    """Count outcomes once more, by the database itself and not by the fold."""
    if fold.exclusions:
        return Finding(name, "recount", True, "left out: some outcomes are excluded")
    pulls, clicks = np.zeros_like(fold.pulls), np.zeros_like(fold.clicks)
    for row, col, count, clicked in database.storage.query(
        _RECOUNT, (number, int(Kind.TELL), int(Kind.LEARN), int(Kind.EXPIRE))
    ):
        pulls[row, col], clicks[row, col] = count, clicked
    same = np.array_equal(pulls, fold.pulls) and np.array_equal(clicks, fold.clicks)
    return Finding(
        name,
        "recount",
        same,
        f"{amount(int(pulls.sum()), 'outcome')}, {amount(int(clicks.sum()), 'click')}"
        + ("" if same else ", not as replayed"),
    )


def _compare(database: Database, name: str, folded: Folded, seq: int, body: bytes, replayed: Fold) -> Finding:
    """Compare a snapshot, moved on to the end of the journal, with the replay."""
    check = f"snapshot at event {seq}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = database.load_snapshot(folded.number, seq, body)
        if found is None:
            return Finding(
                name, check, False, "damaged, or of another journal: it will be set aside, the journal is read instead"
            )
        try:
            same = snapshot.save(database.read_tail(folded.number, found)) == snapshot.save(replayed)
        except Diverged:
            same = False
    return Finding(
        name, check, same, "equals the replay, bit for bit" if same else "differs from the replay: delete it"
    )
