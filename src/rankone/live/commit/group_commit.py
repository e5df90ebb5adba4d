"""Group commit: requests that wait together are committed together.

There is no writer thread. A caller that finds nobody at work leads: it takes everything that waits, carries it out as
one group and wakes the others. Callers that come meanwhile wait, and one of them leads next. With one caller nothing is
handed over at all; with many, the cost of one durable commit is shared by all that wait for it.

Home-made, as drivers and pools commit for each caller alone: 64 threads get 4,773 durable asks and tells a second each
out of one SQLite file, 3.3 times what plain `sqlite3` gets with a transaction each (`python -m benchmarks experiment`).
"""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rankone.errors import StorageError
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold
from rankone.live.messages import Answer, Request
from rankone.live.storage.sql import UNSURE

# A leader waits this share of the last group's time, at most, for callers who are about to come back; and no longer
# than a slow disk takes to commit: after a database was locked for long, nobody shall wait longer for that.
_LINGER, _LONGEST = 0.5, 0.1
T = TypeVar("T")
J = TypeVar("J", bound="Job")


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclasses.dataclass(eq=False, slots=True)
class Job:
    """Something to carry out for a caller who waits for it; it has its result once that was done without an error."""

    alone: ClassVar[bool] = False  # in no group with others
    error: Exception | None = dataclasses.field(default=None, init=False)
    lead: bool = dataclasses.field(default=False, init=False)  # its caller carries out the next group
    ready: threading.Lock = dataclasses.field(default_factory=_locked, init=False)


@dataclasses.dataclass(eq=False, slots=True)
class Write(Job):
    """Carry out requests to an experiment; the result is an answer for each. Those that wait share a commit."""

    of: CachedFold
    requests: Sequence[Request]
    result: list[Answer] = dataclasses.field(init=False)


@dataclasses.dataclass(eq=False, slots=True)
class Look(Job, Generic[T]):
    """Look at the newest state of an experiment; the result is what `at(fold)` returns. Nothing is written for it."""

    of: CachedFold
    at: Callable[[Fold], T]
    result: T = dataclasses.field(init=False)


@dataclasses.dataclass(eq=False, slots=True)
class Alone(Job, Generic[T]):
    """Call `do()` while nobody else of this process uses the database; `of`: it changes this experiment."""

    alone = True
    do: Callable[[], T]
    of: CachedFold | None = None
    result: T = dataclasses.field(init=False)


AnyJob = Write | Look[Any] | Alone[Any]


class Writer(Generic[J]):
    """Carries out jobs in groups; `carry_out(jobs)` fills in results or errors and never runs twice at once."""

    def __init__(self, carry_out: Callable[[list[J]], None]) -> None:
        self._carry_out = carry_out
        self._mutex = threading.Lock()
        self._waiting: list[J] = []
        self._busy = False
        self._inside: set[int] = set()  # threads whose calls are not finished
        self._last_size, self._last_time = 1, 0.0
        self._wanted, self._enough = 0, _locked()  # a lingering leader is woken when so many wait

    def inside(self) -> bool:
        """Return whether this thread is within a call: in a signal handler, or in what is carried out for it."""
        return threading.get_ident() in self._inside

    def run(self, job: J) -> None:
        """Carry out a job, now or with others; raise its error, if it has one."""
        if self.inside():  # it would wait for itself
            do = "call it afterwards; signal handlers may close experiments, or set a flag"
            raise StorageError("one call after the other", "a call from within another one of the same thread", do)
        try:
            self._inside.add(threading.get_ident())
            self._run(job)
        finally:
            self._inside.discard(threading.get_ident())

    def _run(self, job: J) -> None:
        with self._mutex:
            self._waiting.append(job)
            lead, self._busy = not self._busy, True
            if len(self._waiting) == self._wanted:
                self._wanted = 0
                self._enough.release()
        if not lead:
            try:
                job.ready.acquire()
            except BaseException:  # interrupted while waiting: leave the queue in order for the others
                self._leave(job)
                raise
        if lead or job.lead:
            self._lead()
        if job.error is not None:
            raise job.error

    def _leave(self, job: J) -> None:
        with self._mutex:
            if not job.lead and job in self._waiting:
                self._waiting.remove(job)
        if job.lead:
            self._lead()

    def _lead(self) -> None:
        group: list[J] = []
        began = time.monotonic()
        try:
            try:
                self._linger()
            finally:  # interrupted or not: this caller's own job leaves the queue with its group
                with self._mutex:
                    self._wanted = 0
                    self._enough.acquire(blocking=False)  # they may have come just after the time was over
                    group, self._waiting = self._first_group(self._waiting)
            began = time.monotonic()
            self._carry_out(group)
        except Exception as error:
            self._fail(group, error)
        except BaseException:  # this thread is told to end: not so the others
            self._fail(group, StorageError("a commit that is finished", "an interruption", UNSURE))
            raise
        finally:
            self._last_size, self._last_time = len(group), time.monotonic() - began
            self._hand_over(group)

    @staticmethod
    def _fail(group: list[J], error: Exception) -> None:
        for job in group:
            job.error = job.error or error

    def _hand_over(self, group: list[J]) -> None:
        with self._mutex:
            heir = self._waiting[0] if self._waiting else None
            self._busy = heir is not None
            if heir is not None:
                heir.lead = True
        for job in group if heir is None else [*group, heir]:
            if job.ready.locked():  # one that was interrupted while it waited has led, and is free
                job.ready.release()

    def _linger(self) -> None:
        """Let the last group's callers, all but one, come back before this one closes: they share its commit."""
        with self._mutex:
            if len(self._waiting) >= self._last_size - 1:
                return
            self._wanted = self._last_size - 1
        self._enough.acquire(timeout=min(_LINGER * self._last_time, _LONGEST))

    @staticmethod
    def _first_group(waiting: list[J]) -> tuple[list[J], list[J]]:
        """Split off the jobs that go together: all up to the first that must go alone."""
        for before, job in enumerate(waiting):
            if job.alone:
                size = max(1, before)
                return waiting[:size], waiting[size:]
        return waiting, []
