"""A journal folded once more without outcomes that are about to be excluded, while the experiment goes on.

Evidence depends on the order of outcomes, so some of them cannot be subtracted: all that the database has is read
again, as if the exclusion were written behind it. That takes its time, a little at a time on a connection of its own,
and nobody waits. Then one short turn adds what came meanwhile and writes the exclusion
(`rankone.live.operate.excluding`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from rankone.live.database import Database
from rankone.live.fold import fold_cache
from rankone.live.fold.fold import Fold, Stale
from rankone.live.fold.journal_reading import begin, cycles_ignored, each_stretch, read_tail
from rankone.live.journal.events import Draft, Kind, Texts
from rankone.live.storage import Storage
from rankone.live.storage.driver import Row

PRETENDED = 2**60  # the number of an exclusion that is not written yet


def pretended(fits: Mapping[str, Any]) -> list[Row]:
    """Return the event of an exclusion that is not written yet: all that there is was asked before it."""
    draft = Draft(PRETENDED - 1, 0)
    draft.add(Kind.ERA, -1, texts=Texts(note=json.dumps({"exclude": dict(fits), "asked": PRETENDED})))
    return draft.take().rows(b"")


class Refolding:
    """The fold of an experiment's journal without what fits.

    Args:
        database: where the experiment is.
        number: its number there.
        fits: which outcomes are excluded, as the journal keeps it.
        archived: the same of what is in archives; None: it counts as ever.
    """

    def __init__(self, database: Database, number: int, fits: Mapping[str, Any], archived: Fold | None = None) -> None:
        self._database, self._number, self._fits = database, number, fits
        self._outdated = False
        with database.reader() as storage:
            self.fold = archived or begin(storage, number, pretended=pretended(fits))
        self._base = self.fold.seq

    def read_on(self) -> bool:
        """Read what the journal has by now; return False where all has to begin again."""
        with contextlib.suppress(Stale), self._database.reader() as storage, cycles_ignored:
            if not self._outdated:
                read_tail(storage, self._number, self.fold, fold_cache.SHORT)
                return True
        return False

    def catch_up(self, storage: Storage, fits: Mapping[str, Any]) -> bool:
        """Read what came since, in the writer's turn; return False where that is too much for it, or in vain.

        In vain: a time has passed since so that something else `fits`, some events were archived with all that they
        count, something else was excluded, or the exclusion was written onto this once and the database undid it.
        """
        if self._outdated or fits != self._fits or storage.base_seq(self._number) != self._base:
            self._outdated = True
            return False
        try:
            for stretch, _ in enumerate(each_stretch(storage, self._number, self.fold, fold_cache.SHORT)):
                if stretch:
                    return False
        except Stale:
            self._outdated = True
            return False
        self._outdated = True  # the exclusion is written onto it now
        return True
