"""False clicks undone: which outcomes no longer count, in the database and, where that is wanted, in archives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankone.serving import changes as drafts
from rankone.serving.archive_exclusion import Refolded, changed_meanwhile
from rankone.serving.database import Database
from rankone.serving.fold import Fold
from rankone.serving.fold_cache import CachedFold
from rankone.serving.journal import Draft
from rankone.serving.journal_reading import Journal


class Unwanted(NamedTuple):
    """Outcomes that shall no longer count: those that fit everything given."""

    source: str | None
    token: str | None
    levels: Mapping[str, str]
    times: Mapping[str, int]  # since, until
    prior: bool
    why: str

    def fits(self, fold: Fold, journal: Journal, number: int) -> dict[str, Any]:
        """Return the same as a journal keeps it: levels and decisions by their numbers."""
        asked_before = {what: journal.decision_at(number, time) for what, time in self.times.items()}
        first, last = asked_before.get("since"), asked_before["until"] - 1 if "until" in self.times else None
        given: dict[str, Any] = {"source": self.source, "token": self.token, "levels": self.levels}
        return drafts.exclusion_fits(fold, **given, first=first, last=last)


def exclude_outcomes(
    database: Database, of: CachedFold, unwanted: Unwanted, archives: str | Path | None, by: str | None
) -> int:
    """Exclude outcomes, with the folder of the archives also those in them; return how many."""
    transactions, counted = database.transactions, None

    def reaches_archives(fold: Fold) -> bool:
        """Return whether archives are to be read, which may take long: what cannot be excluded is refused before."""
        fits = unwanted.fits(fold, transactions.storage, of.number)
        drafts.check_exclusion(fold, fits, unwanted.prior)
        return bool(fits) and fold.archived > 0

    if archives is not None and transactions.look(of, reaches_archives):

        def fits(whole: Journal) -> dict[str, Any]:
            return transactions.look(of, lambda fold: unwanted.fits(fold, whole, of.number))

        counted = Refolded(database, of.number, archives, fits)

    def plan(fold: Fold, draft: Draft) -> tuple[int, int]:
        storage = transactions.storage
        fits = unwanted.fits(fold, storage, of.number)
        if counted is not None:  # the files have the first decisions, and the database those asked since they were read
            fits |= {what: max(fits[what], counted.fits[what]) for what in ("first", "last") if what in fits}
        elif archives is not None and fits and fold.archived:
            raise changed_meanwhile()
        held = drafts.draft_exclusion(
            fold, draft, fits, why=unwanted.why, prior=unwanted.prior, archives=counted is not None
        )
        seq = fold.seq + len(draft)
        if counted is not None:
            counted.begin(storage, fold, draft)
        return seq, held

    seq, held = transactions.change(of, plan, by)
    # Up to there, whoever tells meanwhile.
    return held + transactions.look(of, lambda fold: fold.exclusions.taken.get(seq, 0))
