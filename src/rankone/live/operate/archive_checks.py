"""Are archives as they were written, and what a journal begins with what they come to?"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankone.errors import RankoneError
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Diverged
from rankone.live.fold.journal_reading import begin
from rankone.live.fold.unknown_policy import PolicyNotKnown
from rankone.live.operate.archive import WithArchive, archive_notes, checksum, file_stem, fold_upto, kept_rows
from rankone.live.operate.archive_files import fault_of
from rankone.live.operate.findings import Finding
from rankone.live.storage import Storage
from rankone.specs import amount


def examine_archives(storage: Storage, name: str, number: int, folder: Path | None) -> Iterator[Finding]:
    """Check what stayed of archived events and, with the folder of their files, everything about them."""
    base, notes = storage.base(number), archive_notes(storage, number)
    if base is None and not notes:
        return
    if base is None or not notes or (notes[-1]["upto"], notes[-1]["base"]) != (base[0], snapshot.digest(base[1])):
        yield Finding(name, "archive", False, "what the journal begins with is not what its last archive left")
        return
    rows, begun = storage.upto(number, base[0]), begin(storage, number, with_policy=False)
    kept = kept_rows(rows, begun.open)
    detail = _told(notes)
    if checksum(kept) != notes[-1]["kept"]:
        yield Finding(name, "archive", False, f"{detail}; events that stayed here are not as they were written")
        return
    left = len(rows) - len(kept)
    detail += f"; {amount(left, 'event')} still to be taken out, by the next archive" if left else ""
    yield Finding(name, "archive", True, detail)
    if folder is None:
        yield Finding(name, "files", True, "not looked at: pass --archive with their folder", checked=False)
        return
    wrong = [each for each in (fault_of(folder / note["file"], note) for note in notes) if each is not None]
    found = f"{amount(len(notes), 'file')} as written" if not wrong else "; ".join(wrong)
    known = {note["file"] for note in notes}
    others = [
        path.name for path in sorted(folder.glob(f"{file_stem(name, number)}.*.parquet")) if path.name not in known
    ]
    if others and not wrong:
        found += f"; not named by this journal, as what an interrupted archive leaves: {', '.join(others)}"
    yield Finding(name, "files", not wrong, found)
    if not wrong:
        yield _replayed(storage, name, number, base, folder, notes[-1]["event"])


def _told(notes: list[dict[str, Any]]) -> str:
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
    found = "what the journal begins with equals the replay of all files, bit for bit"
    return Finding(
        name, "archive replay", same, found if same else "what the journal begins with differs from the files"
    )
