"""Outcomes in archives that no longer count: what a journal begins with, folded once more without them.

The files stay as they are. They are folded from the first event on, as if the exclusion were known, which may take its
time and holds up nobody. Then one commit writes the exclusion, the new base of the journal, and an event ARCHIVE that
names it (`again`), so that `rankone doctor --archive` proves it as it does any other.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Fold
from rankone.live.fold.journal_reading import Journal
from rankone.live.journal.events import Draft, Kind, Texts
from rankone.live.operate.archive import WithArchive, archive_notes, count_eras, fold_upto
from rankone.live.operate.archive_files import fault_of
from rankone.live.operate.refolding import PRETENDED, pretended
from rankone.live.storage import Storage


class Refolded:
    """What is known where a journal begins, without what an exclusion takes out.

    Args:
        database: where the experiment is.
        number: its number there.
        folder: with all files of its archives.
        fits: tells, from all of its journal, which outcomes are excluded, as the journal keeps it.
    """

    def __init__(
        self, database: Database, number: int, folder: str | Path, fits: Callable[[Journal], Mapping[str, Any]]
    ) -> None:
        self._number = number
        with database.reader() as storage:
            for note in archive_notes(storage, self._number):
                fault = fault_of(Path(folder) / note["file"], note)
                if fault is not None:
                    do = "nothing was changed: name the folder that `rankone archive` wrote to"
                    raise InputError(f"all archives of the experiment in {folder}", fault, do)
            whole = WithArchive(storage, self._number, Path(folder))
            self.fits = dict(fits(whole))
            self.times = {what: self.fits[what] for what in ("first", "last") if what in self.fits}
            self._eras, self._upto = count_eras(storage, self._number), storage.base_seq(self._number)
            self.fold = fold_upto(whole, self._number, self._upto, pretended=pretended(self.fits))
        self.fold.weighing.check_sound()

    def begin(self, storage: Storage, fold: Fold, draft: Draft) -> None:
        """Let the journal begin with this, once the exclusion is the last event of a draft."""
        if storage.base_seq(self._number) != self._upto or len(fold.eras) != self._eras:
            raise changed_meanwhile()
        base = copy.deepcopy(self.fold)  # the database may undo this, and then it is tried again
        base.exclusions.taken[fold.seq + len(draft)] = base.exclusions.taken.pop(PRETENDED)
        body = snapshot.save(base)
        storage.put_base(self._number, self._upto, body)
        note = {"upto": self._upto, "again": True, "base": snapshot.digest(body)}
        draft.add(Kind.ARCHIVE, -1, texts=Texts(note=json.dumps(note)))


def changed_meanwhile() -> InputError:
    """Return the error of an exclusion that did not see all archives."""
    got = "one that was archived or changed meanwhile"
    return InputError("the experiment as it was when this began", got, "nothing was excluded: try again")
