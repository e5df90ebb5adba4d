"""How one process reads and writes the experiments of a database: one code path for all of them.

To write: take the lock of the experiments in the group, apply the tail of their journals that others wrote, plan,
choose, append, commit; then answer. Threads of one process, processes on one SQLite file and machines on one PostgreSQL
all do just that. To read: apply the tail and look, without any lock.

A journal that is long to read is read by the caller who needs it (`rankone.serving.fold_cache`), and policies are
compiled there too: others are served meanwhile.

If anything fails before the commit is known to be good, what is in memory may be ahead of the journal: it is dropped,
and folded again from the journal when next needed.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rankone.errors import JournalError, StorageError
from rankone.kernels.steering import look_due
from rankone.serving import snapshot
from rankone.serving.alarms import alarm_note
from rankone.serving.clock import Clock, JournalTime
from rankone.serving.era_notes import era_note
from rankone.serving.fold import Fold, Stale
from rankone.serving.fold_cache import CachedFold, FoldCache, MoreToRead
from rankone.serving.forks import at_work
from rankone.serving.group_commit import Writer
from rankone.serving.jobs import Alone, AnyJob, Look, Write
from rankone.serving.journal import AT, Draft, Events, Kind, Texts
from rankone.serving.journal_reading import begin
from rankone.serving.make_report import winning_note
from rankone.serving.messages import Answer, Decision, Request
from rankone.serving.planner import Planner, PromisedDecisions, decisions_of
from rankone.serving.settings import Settings
from rankone.serving.storage import Storage
from rankone.serving.unknown_policy import UnknownPolicy
from rankone.serving.warm_up import NotCompiled, check_compiled, warm_up

T = TypeVar("T")
J = TypeVar("J", bound=AnyJob)
_SNAPSHOT_EVERY = 20_000  # events; less often where the state is large
_BYTES_PER_EVENT = 64  # a snapshot may cost this much writing for each event it saves reading


class Transactions:
    """The transactions of one process on one database; for any thread.

    Args:
        connect: opens the database.
        read_only: nothing is ever written.
    """

    def __init__(self, connect: Callable[[], Storage], read_only: bool) -> None:
        self._read_only, self._closed = read_only, False
        self._marked = False  # a service has said that it uses the database
        self._to_close = False  # as soon as the call is finished within which it was said
        with at_work:
            self.storage = connect()
            at_work.register(self)
        self._folds = FoldCache(self.storage, self.reader, read_only)
        self._writer = Writer(self._carry_out)

    def enter(
        self, name: str, settings: Callable[[], Settings], clock: Clock | None = None, token: str | None = None
    ) -> CachedFold:
        """Return an experiment by its name; all who ask get the same one. A new one is made with `settings()`."""

        def enter() -> CachedFold:
            number = self.storage.find(name)
            if number is None:
                number = self._create(name, settings(), clock or Clock(), token)
            found = self._folds.of(number)
            if clock is not None:
                found.time = JournalTime(clock)
            return found

        return self.alone(enter)

    def write(self, of: CachedFold, requests: Sequence[Request]) -> list[Answer]:
        """Carry out requests to an experiment in one commit; return their answers. None: only windows end."""
        return self._run(of, lambda: Write(of, requests)).result

    def look(self, of: CachedFold, at: Callable[[Fold], T]) -> T:
        """Return `at(fold)` of an experiment's newest state."""
        return self._run(of, lambda: Look(of, at)).result

    def alone(self, do: Callable[[], T]) -> T:
        """Call `do()` while nobody else of this process uses the database; return its result."""
        return self._take_turn(Alone(do)).result

    @contextlib.contextmanager
    def reader(self) -> Iterator[Storage]:
        """Read on a connection of its own, outside the turn, however long it takes; `close()` does not end it."""
        with at_work:
            self._check_open()
            with contextlib.closing(self.storage.reader()) as storage:
                yield storage

    def close(self) -> None:
        """Close the connection once those who came before are served; who comes later is refused.

        A signal handler may call it too: if its thread is within a call, that call is finished first.
        """
        if self._writer.inside():
            self._to_close = True
            return

        def close() -> None:
            self._closed = True
            self.storage.unmark() if self._marked else self.storage.close()

        with contextlib.suppress(StorageError):  # it is closed already, or a forked process's that cannot be used
            self.alone(close)

    def mark_in_use(self) -> bool:
        """Write down that a service uses the database until it is closed; return whether it is a copy of one in use."""
        copied = self.storage.copied_in_use
        self.alone(self.storage.mark_in_use)
        self._marked = True
        return copied

    def disconnect(self) -> None:
        """Close the connection before a fork, when nobody uses it; it is made again when it is next needed."""
        self.storage.close()

    def begin_in_child(self) -> None:
        """Let nobody in a forked process wait for threads of its parent."""
        self._writer = Writer(self._carry_out)

    def _take_turn(self, job: J) -> J:
        """Carry out a job in the writer's turn; return it with its result."""
        try:
            self._writer.run(job)
            return job
        finally:
            if self._to_close and not self._writer.inside():
                self._to_close = False
                self.close()

    def _create(self, name: str, settings: Settings, clock: Clock, token: str | None) -> int:
        self.storage.begin([])
        number = self.storage.find(name)  # another process may just have made it
        if number is None:
            cached = CachedFold(self.storage.add(name))
            cached.fold = begin(self.storage, cached.number)
            draft = Draft(0, clock.wall(), token)
            draft.add(Kind.CREATE, -1, texts=Texts(note=settings.note()))
            self._append(cached, draft.take())
            number = cached.number
        self.storage.commit()
        return number

    def change(self, of: CachedFold, plan: Callable[[Fold, Draft], T], token: str | None = None) -> T:
        """Carry out `plan`, which drafts rare events, alone in a transaction; return its result.

        The events are noted to be of a token, if one is given by its id.
        """

        def carry_out() -> T:
            self.storage.begin([of.number])
            fold = self._folds.catch_up(of)
            draft = Draft(fold.seq, of.time.now(), token)
            result = plan(fold, draft)
            if len(draft):
                self._append(of, draft.take())
            self.storage.commit()
            return result

        return self._run(of, lambda: Alone(carry_out, of)).result

    def _run(self, of: CachedFold, job: Callable[[], J]) -> J:
        """Run a job in the writer's turn; what it finds unread or not compiled comes first, outside the turn."""
        while True:
            try:
                return self._take_turn(job())
            except MoreToRead as found:
                self._folds.read_whole(of, found.reads)
            except NotCompiled as found:
                with at_work:
                    warm_up(found.policy, found.n_factors)

    def _carry_out(self, group: list[AnyJob]) -> None:
        with at_work:
            self._check_open()
            self._carry_out_open(group)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"{self.storage.where} to be open", "an experiment that was closed", "open it again")

    def _carry_out_open(self, group: list[AnyJob]) -> None:
        first, involved = group[0], {job.of.number: job.of for job in group if job.of is not None}
        try:
            if isinstance(first, Alone):
                first.result = first.do()
            else:
                self._write_together(group, involved)
        except BaseException:
            self.storage.rollback()
            for cached in involved.values():
                cached.fold = None
            raise
        self._after(group, involved)

    def _write_together(self, group: list[AnyJob], involved: dict[int, CachedFold]) -> None:
        """Bring folds up to date and write what is asked for, as one commit. What cannot be read is not involved."""
        writes = [job for job in group if isinstance(job, Write)]
        if writes:
            self.storage.begin(involved)
        for number, cached in list(involved.items()):
            try:
                fold = self._folds.catch_up(cached)
                if writes:
                    check_compiled(fold.policy, len(fold.factors))
            except (JournalError, MoreToRead, NotCompiled) as error:  # nothing to those who only wait together with it
                del involved[number]
                for job in group:
                    if job.of is cached:
                        job.error = error
        if writes:
            self._write([job for job in writes if job.error is None], involved)

    def _after(self, group: list[AnyJob], involved: dict[int, CachedFold]) -> None:
        """Serve those who only look, and keep snapshots: nothing here may harm what is committed."""
        for job in group:
            if isinstance(job, Look) and job.error is None:
                try:
                    job.result = job.at(_known(job.of))
                except Exception as error:
                    job.error = error
        for cached in involved.values():
            with contextlib.suppress(Exception):  # a snapshot is a convenience: the next one may succeed
                self._keep_snapshot(cached)

    def _write(self, jobs: list[Write], involved: dict[int, CachedFold]) -> None:
        answers: list[tuple[Write, list[Answer]]] = []
        for cached in involved.values():
            answers += self._write_one(cached, [job for job in jobs if job.of is cached])
        self.storage.commit()
        for cached in involved.values():
            cached.time.told()
        for job, answer in answers:
            job.result = answer

    def _write_one(self, cached: CachedFold, jobs: list[Write]) -> list[tuple[Write, list[Answer]]]:
        """Append to one journal what is asked for; return the answers, to be given once it is committed."""
        fold = _known(cached)
        if isinstance(fold.policy, UnknownPolicy):
            return [(job, [fold.policy.error()] * len(job.requests)) for job in jobs]
        if cached.outdated:
            self._begin_era(cached, "the program's policy changed")
        planner = Planner(fold, self.storage, cached.number, cached.time)
        planned = planner.plan([request for job in jobs for request in job.requests])
        made: list[Decision] = []
        if len(planner.draft):
            learned, events = fold.learned_since, planner.draft.take()
            self._append(cached, events)
            made = decisions_of(fold, events)
            if look_due(learned, fold.learned_since):
                self._look(cached, fold, planner.draft)
        answers = iter([given.of(made) if isinstance(given, PromisedDecisions) else given for given in planned])
        return [(job, list(itertools.islice(answers, len(job.requests)))) for job in jobs]

    def _look(self, cached: CachedFold, fold: Fold, draft: Draft) -> None:
        """Append what an alarm begins, the end of an experiment that stops by itself, or how it draws from here on."""
        if fold.stopped is not None:
            return
        alarm = alarm_note(fold)
        if alarm is not None:
            draft.add(Kind.ERA, -1, texts=Texts(note=alarm))
            self._append(cached, draft.take())
            return
        error, turn = fold.settings.auto_stop, fold.weighing.turn(fold.asked)
        won = winning_note(fold, error) if error else None
        if turn is not None:
            draft.add(Kind.STEER, -1, texts=Texts(note=turn))
        if won is not None:
            draft.add(Kind.STOP, -1, texts=Texts(note=won))
        if len(draft):
            self._append(cached, draft.take())

    def _append(self, cached: CachedFold, events: Events, restart: bool = False) -> None:
        """Apply new events and add them to the journal as one group."""
        fold = _known(cached)
        try:
            fold.apply(events, restart)
        except Stale:
            cached.fold = None  # it counts what is excluded from here on: the next look folds the journal again
        cached.time.seen(int(events.numbers[-1, AT]))
        fold.chain = events.checksum(fold.chain)
        self.storage.append(cached.number, events.rows(fold.chain))

    def _begin_era(self, cached: CachedFold, why: str) -> None:
        """Start the policy afresh on what is known."""
        fold = _known(cached)
        draft = Draft(fold.seq, cached.time.now())
        draft.add(Kind.ERA, -1, texts=Texts(note=era_note(fold, why, forget=True)))
        self._append(cached, draft.take(), restart=True)
        cached.outdated = False

    def _keep_snapshot(self, cached: CachedFold) -> None:
        """Store a snapshot now and then."""
        fold = cached.fold
        if fold is None or self._read_only or fold.state is None:
            return
        new = fold.seq - cached.snapshot_seq
        if new < _SNAPSHOT_EVERY:
            return
        size = sum(array.nbytes for array in (*fold.state, fold.pulls, fold.clicks, fold.asked, *fold.weighing.arrays))
        if new < size // _BYTES_PER_EVENT:
            return
        cached.snapshot_seq = fold.seq
        body = snapshot.save(fold)
        with self.storage.transaction([cached.number]):
            self.storage.keep_snapshot(cached.number, fold.seq, body)


def _known(cached: CachedFold) -> Fold:
    """Return the fold of an experiment that was just brought up to date."""
    assert cached.fold is not None
    return cached.fold
