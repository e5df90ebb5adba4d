"""Is everything as it was written? Pages, names, checksums, a full replay, a recount, snapshots, archives.

All of an experiment is read as of one moment, so that a service may go on writing meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rankone.errors import RankoneError
from rankone.live.factors import widened
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.journal_reading import begin, from_snapshot, read_tail, replay
from rankone.live.fold.unknown_policy import PolicyNotKnown
from rankone.live.journal.packing import unpack_shown
from rankone.live.operate.archive_checks import examine_archives
from rankone.live.operate.findings import Finding
from rankone.live.report.report_wording import NOT_KNOWN
from rankone.live.storage import Storage, open_storage
from rankone.live.storage.forks import at_work
from rankone.live.storage.schema import MIGRATIONS
from rankone.specs import amount

_COPIED = (
    "copied while a service wrote to it, without its -wal file: what was written last is missing; `rankone backup` "
    "makes a whole copy"
)
_PATIENCE = 3600.0  # seconds for one statement: a recount of a long journal takes its time


def examine(db: str | Path, archive: str | Path | None = None) -> list[Finding]:
    """Check a database and everything in it, and the archives in a folder; nothing is changed, and nobody waits."""
    with at_work:
        try:
            storage = open_storage(db, patience=_PATIENCE, read_only=True)
        except RankoneError as error:
            return [Finding("", "open", False, str(error))]
        with contextlib.closing(storage):
            return list(_examine(storage, None if archive is None else Path(archive)))


def _examine(storage: Storage, archive: Path | None) -> Iterator[Finding]:
    try:
        yield Finding("", "schema", True, f"version {len(MIGRATIONS)}, which this program writes")
        if storage.copied_in_use:
            yield Finding("", "copy", False, _COPIED)
        damage = storage.damage()
        found = "; ".join((damage or [])[:5]) or "the database finds no fault with itself"
        unchecked = "the database has no check of its own: it reports a damaged page when that page is read"
        yield Finding("", "pages", not damage, unchecked if damage is None else found, checked=damage is not None)
        names = storage.names()
    except RankoneError as error:
        yield Finding("", "experiments", False, str(error))
        return
    for name, number in names.items():
        try:
            storage.hold_still()
            for finding in itertools.chain(
                _examine_one(storage, name, number), examine_archives(storage, name, number, archive)
            ):
                yield _not_all(finding) if damage and finding.ok and finding.checked else finding
        except RankoneError as error:
            yield Finding(name, "journal", False, str(error))
        except Exception as error:  # whatever damaged rows make of the code that reads them
            yield Finding(name, "journal", False, f"cannot be read: {error!r}")
        finally:
            storage.rollback()


def _not_all(finding: Finding) -> Finding:
    """Call nothing good that was read from wrong pages: what they hide cannot be checked."""
    return finding._replace(detail=f"{finding.detail}, as far as can be read: wrong pages may hide more", checked=False)


def _examine_one(storage: Storage, name: str, number: int) -> Iterator[Finding]:
    replayed, verdict = True, "every choice comes out as it was written"
    try:
        fold = replay(storage, number)
    except (Diverged, PolicyNotKnown) as why:
        fold, replayed = replay(storage, number, with_policy=False), False
        verdict = f"the policy's code changed since event {why}: it starts afresh when next used"
        if isinstance(why, PolicyNotKnown):
            verdict = f"{why.got}: {NOT_KNOWN}"
    found = f"{amount(fold.seq, 'event')}, {amount(fold.decisions, 'decision')}, all checksums fit"
    renamed = fold.settings.name != name
    yield Finding(name, "journal", not renamed, f"made as '{fold.settings.name}': renamed since" if renamed else found)
    yield Finding(name, "replay", True, verdict, checked=replayed)
    yield _recount(storage, name, number, fold)
    for seq, body in storage.snapshots(number):
        if fold.state is None:
            yield Finding(name, f"snapshot at event {seq}", True, "nothing to compare it with", checked=False)
        else:
            yield _compare(storage, name, number, seq, body, fold)


def _recount(storage: Storage, name: str, number: int, fold: Fold) -> Finding:
    """Count outcomes once more, by the database itself and not by the fold."""
    pulls, clicks = np.zeros_like(fold.pulls), np.zeros_like(fold.clicks)
    after = storage.base_seq(number)
    if after:
        begun = begin(storage, number, with_policy=False)
        pulls, clicks = (widened(each, fold.factors.sizes) for each in (begun.pulls, begun.clicks))
    counted = storage.recount(number, [each._asdict() for each in fold.exclusions], after)
    for shown, count, clicked in counted:
        cell = tuple(unpack_shown(bytes(shown), pulls.ndim))
        pulls[cell] += count
        clicks[cell] += clicked
    _, told, clicked = fold.earlier + np.stack([fold.asked, fold.pulls, fold.clicks])
    same = np.array_equal(pulls, told) and np.array_equal(clicks, clicked)
    found = f"{amount(int(pulls.sum()), 'outcome')}, {amount(int(clicks.sum()), 'click')}"
    return Finding(name, "recount", same, found + ("" if same else ", not as replayed"))


def _compare(storage: Storage, name: str, number: int, seq: int, body: bytes, replayed: Fold) -> Finding:
    """Compare a snapshot, moved on to the end of the journal, with the replay."""
    check = f"snapshot at event {seq}"
    found = from_snapshot(storage, number, seq, body)
    if found is None and snapshot.of_another_version(body):
        detail = "made by another version of rankone: it will be set aside, the journal is read instead"
        return Finding(name, check, True, detail, checked=False)
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
