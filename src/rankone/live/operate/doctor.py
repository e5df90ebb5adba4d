"""Is everything as it was written? Pages, names, checksums, a full replay, snapshots, archives.

All of an experiment is read as of one moment, so that a service may go on writing meanwhile.
"""

import contextlib
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rankone.errors import RankoneError
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.journal_reading import begin, from_snapshot, read_tail, replay
from rankone.live.fold.unknown_policy import PolicyNotKnown
from rankone.live.operate.archive import WithArchive, archive_notes, checksum, file_stem, fold_upto, kept_rows
from rankone.live.operate.archive_files import fault_of
from rankone.live.report.report_wording import NOT_KNOWN
from rankone.live.storage import Storage, open_storage
from rankone.live.storage.forks import in_use
from rankone.live.storage.schema import MIGRATIONS
from rankone.specs import amount

_PATIENCE = 3600.0  # seconds for one statement: a long journal takes its time


class Finding(NamedTuple):
    """The result of one check."""

    experiment: str  # "" for the database as a whole
    check: str
    ok: bool  # nothing wrong was found
    detail: str
    checked: bool = True  # False: it could not be checked, and the detail says why

    @property
    def verdict(self) -> str:
        """The result in a word."""
        return "left out" if not self.checked else "good" if self.ok else "WRONG"


def examine(db: str | Path, archive: str | Path | None = None) -> list[Finding]:
    """Check a database and everything in it, and the archives in a folder; nothing is changed, and nobody waits."""
    with in_use:
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
            lacks = "copied while a service wrote to it, without its -wal file: what was written last is missing"
            yield Finding("", "copy", False, f"{lacks}; `rankone backup` makes a whole copy")
        damage = storage.damage()
        known = "; ".join((damage or [])[:5]) or "the database finds no fault with itself"
        unchecked = "the database has no check of its own: it reports a damaged page when that page is read"
        yield Finding("", "pages", not damage, unchecked if damage is None else known, checked=damage is not None)
        names = storage.names()
    except RankoneError as error:
        yield Finding("", "experiments", False, str(error))
        return
    for name, number in names.items():
        try:
            storage.hold_still()
            for finding in _examine_one(storage, name, number, archive):
                if damage and finding.ok and finding.checked:  # wrong pages may hide more than can be checked
                    unsure = f"{finding.detail}, as far as can be read: wrong pages may hide more"
                    finding = finding._replace(detail=unsure, checked=False)
                yield finding
        except RankoneError as error:
            yield Finding(name, "journal", False, str(error))
        except Exception as error:  # whatever damaged rows make of the code that reads them
            yield Finding(name, "journal", False, f"cannot be read: {error!r}")
        finally:
            storage.rollback()


def _examine_one(storage: Storage, name: str, number: int, archive: Path | None) -> Iterator[Finding]:
    replayed, verdict = True, "every choice is reproduced"
    try:
        fold = replay(storage, number)
    except (Diverged, PolicyNotKnown) as why:
        fold, replayed = replay(storage, number, with_policy=False), False
        verdict = f"the policy's code changed since event {why}: it starts afresh when next used"
        if isinstance(why, PolicyNotKnown):
            verdict = f"{why.got}: {NOT_KNOWN}"
    known = f"{amount(fold.seq, 'event')}, {amount(fold.decisions, 'decision')}, all checksums fit"
    renamed = fold.settings.name != name
    yield Finding(name, "journal", not renamed, f"made as '{fold.settings.name}': renamed since" if renamed else known)
    yield Finding(name, "replay", True, verdict, checked=replayed)
    for seq, body in storage.snapshots(number):
        if fold.state is None and fold.published is None:
            yield Finding(name, f"snapshot at event {seq}", True, "nothing to compare it with", checked=False)
        else:
            yield _compare(storage, name, number, seq, body, fold)
    yield from _examine_archives(storage, name, number, archive)


def _compare(storage: Storage, name: str, number: int, seq: int, body: bytes, replayed: Fold) -> Finding:
    check = f"snapshot at event {seq}"
    known = from_snapshot(storage, number, seq, body)
    if known is None:
        other = snapshot.of_another_version(body)
        why = "made by another version of rankone" if other else "damaged, or of another journal"
        return Finding(name, check, other, f"{why}: it will be set aside, the journal is read instead", not other)
    try:
        same = snapshot.save(read_tail(storage, number, known)) == snapshot.save(replayed)
    except Diverged:
        same = False
    result = "equals the replay, bit for bit" if same else "differs from the replay: delete it"
    return Finding(name, check, same, result)


def _examine_archives(storage: Storage, name: str, number: int, folder: Path | None) -> Iterator[Finding]:
    base, notes = storage.base(number), archive_notes(storage, number)
    if base is None and not notes:
        return
    if base is None or not notes or (notes[-1]["upto"], notes[-1]["base"]) != (base[0], snapshot.digest(base[1])):
        yield Finding(name, "archive", False, "what the journal begins with is not what its last archive left")
        return
    rows, begun = storage.upto(number, base[0]), begin(storage, number, with_policy=False)
    kept = kept_rows(rows, begun.open)
    detail = _moved_text(notes)
    if checksum(kept) != notes[-1]["kept"]:
        yield Finding(name, "archive", False, f"{detail}; events that stayed here were changed or damaged")
        return
    left = len(rows) - len(kept)
    detail += f"; {amount(left, 'event')} still to be taken out, by the next archive" if left else ""
    yield Finding(name, "archive", True, detail)
    if folder is None:
        yield Finding(name, "files", True, "not looked at: pass --archive with their folder", checked=False)
        return
    wrong = [each for each in (fault_of(folder / note["file"], note) for note in notes) if each is not None]
    known = f"{amount(len(notes), 'file')} as written" if not wrong else "; ".join(wrong)
    there = {path.name for path in folder.glob(f"{file_stem(name, number)}.*.parquet")}
    others = sorted(there - {note["file"] for note in notes})
    if others and not wrong:
        known += f"; not named by this journal, as what an interrupted archive leaves: {', '.join(others)}"
    yield Finding(name, "files", not wrong, known)
    if not wrong:
        yield _replayed(storage, name, number, base, folder, notes[-1]["event"])


def _moved_text(notes: list[dict[str, Any]]) -> str:
    decisions, clicks = (sum(int(note[what]) for note in notes) for what in ("decisions", "clicks"))
    until = datetime.datetime.fromtimestamp(notes[-1]["until"] / 1e6, datetime.UTC).isoformat(" ", "seconds")
    moved = f"{amount(int(notes[-1]['upto']), 'event')}, {amount(decisions, 'decision')} with {amount(clicks, 'click')}"
    return f"{moved}, up to {until}, moved to {amount(len(notes), 'file')}"


def _replayed(storage: Storage, name: str, number: int, base: tuple[int, Any], folder: Path, event: int) -> Finding:
    """Compare what the journal begins with with all that is in the files, played once more."""
    try:
        whole = WithArchive(storage, number, folder, until=event)
        same = snapshot.save(fold_upto(whole, number, base[0])) == bytes(base[1])
    except (Diverged, PolicyNotKnown) as why:
        return Finding(name, "archive replay", True, f"not compared: the policy's code changed ({why})", checked=False)
    except RankoneError as error:
        return Finding(name, "archive replay", False, str(error))
    result = "equals the replay of all files, bit for bit" if same else "differs from the files"
    return Finding(name, "archive replay", same, f"what the journal begins with {result}")
