"""False clicks undone: which outcomes no longer count, in the database and, where that is wanted, in archives.

The experiment goes on meanwhile: what is left is counted beside it (`rankone.live.operate.refolding`), and one short
commit writes the exclusion once that is done. Where it takes long, the journal says first what is wanted: if the
program is killed, another one that looks after the experiment finishes it.
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankone.live.commit import operator_events as drafts
from rankone.live.commit.era_notes import era_note
from rankone.live.commit.warm_up import check_compiled
from rankone.live.database import Database
from rankone.live.fold import fold_cache
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.fold.journal_reading import Journal
from rankone.live.journal.events import Draft, Kind, Texts
from rankone.live.operate.archive_exclusion import Refolded, changed_meanwhile
from rankone.live.operate.refolding import PRETENDED, Refolding
from rankone.live.storage import Storage

log = logging.getLogger("rankone.live")
_GIVEN_UP = 60_000_000  # microseconds after which another program takes up what somebody wanted
_NOTHING_YET = 2**61  # the first decision that fits, where the time from which on they do is still to come


class Unwanted(NamedTuple):
    """Outcomes that shall no longer count: those that fit everything given."""

    source: str | None
    token: str | None
    levels: Mapping[str, str]
    times: Mapping[str, int]  # since, until
    prior: bool
    why: str

    def fits(self, fold: Fold, journal: Journal, number: int) -> dict[str, Any]:
        """Return the same as a journal keeps it: levels and decisions by their numbers.

        A time that has passed stands for the same decisions ever after. For one still to come, none of them or all do.
        """
        first = last = None
        if "since" in self.times:
            ahead = self.times["since"] > fold.at
            first = _NOTHING_YET if ahead else journal.decision_at(number, self.times["since"])
        if "until" in self.times and self.times["until"] <= fold.at:
            last = journal.decision_at(number, self.times["until"]) - 1
        given: dict[str, Any] = {"source": self.source, "token": self.token, "levels": self.levels}
        found = drafts.exclusion_fits(fold, **given, first=first, last=last)
        return found if found or not self.times else {"first": 0}

    @property
    def only_prior(self) -> bool:
        """Whether nothing but past counts is to be forgotten."""
        return self.source is None and self.token is None and not self.levels and not self.times


class _Job(NamedTuple):
    """An exclusion to be carried out: `fits` tells what it takes out, as the journal keeps it."""

    fits: Callable[[Fold], Mapping[str, Any]]
    why: str
    prior: bool
    by: str | None
    wanted: int | None = None  # the event that says that somebody wants it
    archives: Refolded | None = None


def exclude_outcomes(
    database: Database, of: CachedFold, unwanted: Unwanted, archives: str | Path | None, by: str | None
) -> int:
    """Exclude outcomes, with the folder of the archives also those in them; return how many."""
    transactions, storage = database.transactions, database.transactions.storage
    refolded: Refolded | None = None

    def reaches_archives(fold: Fold) -> bool:
        """Return whether archives are to be read, which may take long: what cannot be excluded is refused before."""
        drafts.check_exclusion(fold, unwanted.fits(fold, storage, of.number), unwanted.prior)
        era_note(fold, unwanted.why)
        return archives is not None and fold.archived > 0

    def fits(fold: Fold) -> Mapping[str, Any]:
        found = unwanted.fits(fold, storage, of.number)
        if refolded is not None:  # the files have the first decisions
            found |= {what: max(found[what], first) for what, first in refolded.times.items() if what in found}
        if archives is not None and found and (fold.archived if refolded is None else found != refolded.fits):
            raise changed_meanwhile()
        return found

    def whole_fits(whole: Journal) -> Mapping[str, Any]:
        return transactions.look(of, lambda fold: unwanted.fits(fold, whole, of.number))

    with of.excluding:
        in_archives = transactions.look(of, reaches_archives)
        if unwanted.only_prior:
            return transactions.change(of, lambda fold, draft: drafts.draft_no_prior(fold, draft, unwanted.why), by)
        if archives is not None and in_archives:
            refolded = Refolded(database, of.number, archives, whole_fits)
        job = _Job(fits, unwanted.why, unwanted.prior, by, archives=refolded)
        if archives is None:
            job = transactions.change(of, functools.partial(_want, job), by)
        return _carry_out(database, of, job)


def _want(job: _Job, fold: Fold, draft: Draft) -> _Job:
    """Draft what is wanted, where it takes long to carry out; return the job with what was written."""
    if fold.seq - fold.archived <= fold_cache.SHORT:
        return job
    fits = {"last": fold.decisions - 1, **job.fits(fold)}  # what is asked from now on is nobody's wish
    note = {"exclude": fits, "why": job.why, "prior": job.prior}
    draft.add(Kind.EXCLUDE, -1, texts=Texts(note=json.dumps(note)))
    return _job_of(fold.seq + 1, note | {"token": job.by})


def _job_of(wanted: int, note: Mapping[str, Any]) -> _Job:
    """Return what somebody wanted with an event."""
    return _Job(lambda fold: note["exclude"], note["why"], note["prior"], note["token"], wanted)


def rests_for(of: CachedFold, fold: Fold) -> float:
    """Return for how many seconds no window ends and no interrupted exclusion has to be finished."""
    ends = [fold.open[fold.due[0]].at + fold.settings.window_micros] if fold.due else []
    return (min([*ends, *_given_up(of, fold).values()], default=math.inf) - of.time.now()) / 1e6


def _given_up(of: CachedFold, fold: Fold) -> dict[int, int]:
    """Return for each exclusion that is not carried out when to: whoever wanted it is taken to be gone by then."""
    return {wanted: max(note["at"] + _GIVEN_UP, of.finish_at) for wanted, note in fold.wanted.items()}


def _interrupted(of: CachedFold, fold: Fold) -> _Job | None:
    """Return an exclusion that it is time to finish; None: there is none."""
    due = [wanted for wanted, at in _given_up(of, fold).items() if at <= of.time.now()]
    return _job_of(due[0], fold.wanted[due[0]]) if due else None


def finish_exclusions(database: Database, of: CachedFold) -> None:
    """Carry out exclusions that were interrupted, unless somebody of this process is at one.

    One that cannot be carried out is said in the log, and tried again later: nothing else depends on it.
    """
    if of.excluding.acquire(blocking=False):
        try:
            while (job := database.transactions.look(of, functools.partial(_interrupted, of))) is not None:
                _carry_out(database, of, job)
        except Exception as error:
            of.finish_at = of.time.now() + _GIVEN_UP
            log.warning("an interrupted exclusion cannot be finished, and is tried again later: %s", error)
        finally:
            of.excluding.release()


def _carry_out(database: Database, of: CachedFold, job: _Job) -> int:
    """Count the journal without what is excluded, and write the exclusion; return how many outcomes it takes out."""
    transactions = database.transactions
    transactions.look(of, lambda fold: check_compiled(fold.policy, len(fold.factors)))
    while True:
        archived = None if job.archives is None else copy.deepcopy(job.archives.fold)
        refolding = Refolding(database, of.number, transactions.look(of, job.fits), archived)
        while refolding.read_on():
            write = functools.partial(_write, job, refolding, transactions.storage)
            taken = transactions.change(of, write, job.by, instead=refolding.fold)
            if taken is not None:
                return taken


def _write(job: _Job, refolding: Refolding, storage: Storage, fold: Fold, draft: Draft) -> int | None:
    """Draft the exclusion, in the writer's turn, if all else is counted; return how many it takes out."""
    if job.wanted is not None and job.wanted not in fold.wanted:  # another program was quicker
        return fold.exclusions.taken_for(job.wanted)
    fits = job.fits(fold)
    if not refolding.catch_up(storage, fits):
        return None
    reached = job.archives is not None
    held, note = drafts.draft_exclusion(
        fold, draft, fits, why=job.why, prior=job.prior, archives=reached, wanted=job.wanted
    )
    taken = refolding.fold.exclusions.written(PRETENDED, fold.seq + len(draft), json.loads(note))
    if job.archives is not None:
        job.archives.begin(storage, fold, draft)
    return held + taken
