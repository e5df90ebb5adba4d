"""False clicks undone: which outcomes no longer count. Those in archives count on.

Evidence depends on the order of outcomes, so some of them cannot be subtracted: all that the database has is read
again, as if the exclusion were written behind it, while the experiment goes on. Then one short commit adds what came
meanwhile and writes the exclusion. Where it takes long, the journal says first what is wanted: if the program is
killed, another one that looks after the experiment finishes it.
"""

import contextlib
import functools
import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rankone.live.commit import operator_events as drafts
from rankone.live.commit.operator_events import era_note
from rankone.live.commit.warm_up import check_compiled
from rankone.live.database import Database
from rankone.live.fold import fold_cache
from rankone.live.fold.fold import Fold, Stale
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.fold.journal_reading import begin, cycles_ignored, each_stretch, read_tail
from rankone.live.journal.events import Draft, Kind
from rankone.live.storage import Storage
from rankone.live.storage.driver import Row

log = logging.getLogger("rankone.live")
_GIVEN_UP = 60_000_000  # microseconds after which another program takes up what somebody wanted
PRETENDED = 2**60  # the number of an exclusion that is not written yet
_NOTHING_YET = 2**61  # the first decision that fits, where the time from which on they do is still to come


def pretended(fits: Mapping[str, Any]) -> list[Row]:
    """Return the event of an exclusion that is not written yet: all that there is was asked before it."""
    draft = Draft(PRETENDED - 1, 0)
    draft.mark(Kind.ERA, json.dumps({"exclude": dict(fits), "asked": PRETENDED}))
    return draft.take().rows(b"")


class Refolding:
    """The fold of a journal without what `fits`."""

    def __init__(self, database: Database, number: int, fits: Mapping[str, Any]) -> None:
        self._database, self._number, self._fits = database, number, fits
        self._outdated = False
        with database.reader() as storage:
            self.fold = begin(storage, number, pretended=pretended(fits))
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


class Unwanted(NamedTuple):
    """Outcomes that shall no longer count: those that fit everything given."""

    source: str | None
    token: str | None
    levels: Mapping[str, str]
    times: Mapping[str, int]  # since, until
    prior: bool
    why: str

    def fits(self, fold: Fold, journal: Storage, number: int) -> dict[str, Any]:
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
        result = drafts.exclusion_fits(fold, **given, first=first, last=last)
        return result if result or not self.times else {"first": 0}

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


def exclude_outcomes(database: Database, of: CachedFold, unwanted: Unwanted, by: str | None) -> int:
    """Exclude outcomes; return how many."""
    transactions = database.transactions

    def fits(fold: Fold) -> Mapping[str, Any]:
        return unwanted.fits(fold, transactions.storage, of.number)

    def check(fold: Fold) -> None:
        """Refuse what cannot be excluded, before anything takes long."""
        drafts.check_exclusion(fold, fits(fold), unwanted.prior)
        era_note(fold, unwanted.why)

    with of.excluding:
        transactions.look(of, check)
        if unwanted.only_prior:
            return transactions.change(of, lambda fold, draft: drafts.draft_no_prior(fold, draft, unwanted.why), by)
        job = _Job(fits, unwanted.why, unwanted.prior, by)
        return _carry_out(database, of, transactions.change(of, functools.partial(_want, job), by))


def _want(job: _Job, fold: Fold, draft: Draft) -> _Job:
    """Draft what is wanted, where it takes long to carry out; return the job with what was written."""
    if fold.seq - fold.archived <= fold_cache.SHORT:
        return job
    fits = {"last": fold.decisions - 1, **job.fits(fold)}  # what is asked from now on is nobody's wish
    note = {"exclude": fits, "why": job.why, "prior": job.prior}
    draft.mark(Kind.EXCLUDE, json.dumps(note))
    return _job_of(fold.seq + 1, note | {"token": job.by})


def _job_of(wanted: int, note: Mapping[str, Any]) -> _Job:
    return _Job(lambda fold: note["exclude"], note["why"], note["prior"], note["token"], wanted)


def rests_for(of: CachedFold, fold: Fold) -> float:
    """Return for how many seconds no window ends and no interrupted exclusion has to be finished."""
    ends = [fold.open[fold.due[0]].at + fold.settings.outcomes.window_micros] if fold.due else []
    ends += [fold.goals.next_end] if fold.goals is not None and fold.goals.next_end is not None else []
    return (min([*ends, *_given_up(of, fold).values()], default=math.inf) - of.time.now()) / 1e6


def _given_up(of: CachedFold, fold: Fold) -> dict[int, int]:
    """Return for each exclusion that is not carried out when to: whoever wanted it is taken to be gone by then."""
    return {wanted: max(note["at"] + _GIVEN_UP, of.finish_at) for wanted, note in fold.wanted.items()}


def _interrupted(of: CachedFold, fold: Fold) -> _Job | None:
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
        refolding = Refolding(database, of.number, transactions.look(of, job.fits))
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
    held, note = drafts.draft_exclusion(fold, draft, fits, why=job.why, prior=job.prior, wanted=job.wanted)
    return held + refolding.fold.exclusions.written(PRETENDED, fold.seq + len(draft), json.loads(note))
