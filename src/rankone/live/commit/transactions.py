"""How one process reads and writes the experiments of a database: one code path for all of them.

To write: take the lock of the experiments in the group, apply the tail of their journals that others wrote, plan,
choose, append, commit; then answer. Threads of one process, processes on one SQLite file and machines on one PostgreSQL
all do just that. To read: apply the tail and look, without any lock.

A journal that is long to read is read by the caller who needs it (`rankone.live.fold.fold_cache`), and policies are
compiled there too: others are served meanwhile.

If anything fails before the commit is known to be good, what is in memory may be ahead of the journal: it is dropped,
and folded again from the journal when next needed.
"""

import contextlib
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rankone.errors import InputError, JournalError, StorageError
from rankone.evidence.steering import look_due
from rankone.live.commit.alarms import alarm_note
from rankone.live.commit.decisions import PromisedDecisions, decisions_of
from rankone.live.commit.group_commit import Alone, AnyJob, Look, Write, Writer
from rankone.live.commit.operator_events import era_note
from rankone.live.commit.planner import Planner
from rankone.live.commit.warm_up import NotCompiled, check_compiled, warm_up
from rankone.live.evidence.weighed_outcomes import fault_text
from rankone.live.fold import snapshot
from rankone.live.fold.fold import Fold
from rankone.live.fold.fold_cache import CachedFold, FoldCache, MoreToRead
from rankone.live.fold.journal_reading import begin
from rankone.live.fold.list_fold import ListFold
from rankone.live.fold.unknown_policy import UnknownPolicy
from rankone.live.journal.clock import Clock, JournalTime
from rankone.live.journal.events import AT, Draft, Events, Kind
from rankone.live.messages import Answer, Decision, Request
from rankone.live.report.make_goals import guardrail_notes, guardrails_wait
from rankone.live.report.make_ranking import list_due
from rankone.live.report.make_report import winning_note
from rankone.live.settings import Settings
from rankone.live.storage import Storage
from rankone.live.storage.driver import RolledBack
from rankone.live.storage.forks import in_use

T = TypeVar("T")
J = TypeVar("J", bound=AnyJob)
_SNAPSHOT_EVERY, _LEAVING_EVERY = 20_000, 2_000  # events; less often where the state is large
# A snapshot may cost this much writing for each event it saves reading; of a fold that leaves memory they will be read.
_BYTES_PER_EVENT, _BYTES_LEAVING = 64, 1_000

_TRIES, _PAUSE = 10, 0.01  # of a transaction that the database undoes, and seconds after the first of them


class Transactions:
    """The transactions of one process on the database that `connect` opens; for any thread."""

    def __init__(self, connect: Callable[[], Storage], read_only: bool) -> None:
        self._read_only, self._closed = read_only, False
        self._marked = False  # a service has said that it uses the database
        self._to_close = False  # as soon as the call is finished within which it was said
        with in_use:
            self.storage = connect()
            in_use.register(self)
        self._folds = FoldCache(self.storage, self.reader, read_only)
        self._writer = Writer(self._carry_out)

    def enter(
        self,
        name: str,
        settings: Callable[[], Settings] | None = None,
        clock: Clock | None = None,
        token: str | None = None,
    ) -> CachedFold:
        """Return an experiment by its name; all who ask get the same one.

        A new one is made with `settings()`; without, it has to be there.
        """

        def enter() -> CachedFold:
            if settings is not None and self.storage.find(name) is None:
                cached = self._create(name, settings(), clock or Clock(), token)
            else:
                cached = self._folds.of(self.storage.number(name))
            if clock is not None:
                cached.time = JournalTime(clock)
            return cached

        return self.alone(enter)

    def write(self, of: CachedFold, requests: Sequence[Request]) -> list[Answer]:
        """Carry out requests to an experiment in one commit; return their answers. None: only windows end."""
        return self._run(of, lambda: Write(of, requests)).result

    def look(self, of: CachedFold, at: Callable[[Fold], T]) -> T:
        """Return `at(fold)` of an experiment's newest state."""
        return self._run(of, lambda: Look(of, at)).result

    def alone(self, do: Callable[[], T]) -> T:
        """Call `do()` while nobody else of this process uses the database; return its result."""
        return self._try_again(lambda: self._take_turn(Alone(do))).result

    @contextlib.contextmanager
    def reader(self) -> Iterator[Storage]:
        """Read on a connection of its own, outside the turn, however long it takes; `close()` does not end it."""
        with in_use:
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
        self._folds.begin_in_child()

    def _take_turn(self, job: J) -> J:
        try:
            self._writer.run(job)
            return job
        finally:
            if self._to_close and not self._writer.inside():
                self._to_close = False
                self.close()

    def _create(self, name: str, settings: Settings, clock: Clock, token: str | None) -> CachedFold:
        self.storage.begin([])
        number = self.storage.find(name)  # another process may just have made it
        made = CachedFold(self.storage.add(name) if number is None else number)
        if number is None:
            made.fold = begin(self.storage, made.number, lists=bool(settings.positions))
            draft = Draft(0, clock.wall(), token)
            draft.mark(Kind.CREATE, settings.note())
            self._append(made, draft.take(), restart=settings.prior is None)
        self.storage.commit()
        if settings.prior is not None:  # the policy learns it outside the turn: it may have to be compiled
            made.fold = None
        return self._folds.of(made.number, made)

    def change(
        self, of: CachedFold, plan: Callable[[Fold, Draft], T], token: str | None = None, instead: Fold | None = None
    ) -> T:
        """Carry out `plan`, which drafts rare events or none, alone in a transaction; return its result.

        The events are noted to be by `token`. The experiment goes on with the fold `instead`, which knows what they
        exclude: it is kept as a snapshot in the same commit, so nobody has to read the whole journal again.
        """

        def carry_out() -> T | InputError:
            self.storage.begin([of.number])
            fold = self._folds.catch_up(of)
            draft = Draft(fold.seq, of.time.now(), token)
            try:
                result = plan(fold, draft)
            except InputError as error:  # nothing was done, and what is known stays known
                self.storage.rollback()
                return error
            if len(draft):
                of.fold = fold if instead is None else instead
                self._append(of, draft.take(), restart=instead is not None)
                if instead is not None:
                    of.outdated, of.snapshot_seq = False, 0
                    self.storage.drop_snapshots(of.number)
                    if _worth_keeping(instead, instead.seq - instead.archived, _BYTES_PER_EVENT):
                        self.storage.keep_snapshot(of.number, instead.seq, snapshot.save(instead))
                        of.snapshot_seq = instead.seq
            self.storage.commit()
            return result

        answer = self._run(of, lambda: Alone(carry_out, of)).result
        if isinstance(answer, InputError):
            raise answer
        return answer

    def _run(self, of: CachedFold, job: Callable[[], J]) -> J:
        """Run a job in the writer's turn; what it finds unread or not compiled comes first, outside the turn."""
        while True:
            try:
                return self._try_again(lambda: self._take_turn(job()))
            except MoreToRead as found:
                self._try_again(functools.partial(self._folds.read_whole, of, found.reads))
            except NotCompiled as found:
                with in_use:
                    warm_up(found.policy, found.n_factors)

    @staticmethod
    def _try_again(do: Callable[[], T]) -> T:
        """Return `do()`, tried again where the database undid it for the sake of others."""
        for tries in itertools.count(1):
            try:
                return do()
            except RolledBack:
                if tries == _TRIES:
                    raise
            time.sleep(tries * _PAUSE)
        raise AssertionError

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"{self.storage.where} to be open", "an experiment that was closed", "open it again")

    def _carry_out(self, group: list[AnyJob]) -> None:
        first, involved = group[0], {job.of.number: job.of for job in group if job.of is not None}
        with in_use:
            self._check_open()
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
            self._keep_snapshot(cached, _SNAPSHOT_EVERY, _BYTES_PER_EVENT)
        self._folds.make_room(involved, lambda idle: self._keep_snapshot(idle, _LEAVING_EVERY, _BYTES_LEAVING))

    def _write(self, jobs: list[Write], involved: dict[int, CachedFold]) -> None:
        answers: list[tuple[Write, list[Answer]]] = []
        for cached in involved.values():
            answers += self._write_one(cached, [job for job in jobs if job.of is cached])
        self.storage.commit()
        for cached in involved.values():
            cached.time.stored()
        for job, answer in answers:
            job.result = answer

    def _write_one(self, cached: CachedFold, jobs: list[Write]) -> list[tuple[Write, list[Answer]]]:
        """Append to one journal what is asked for; return the answers, to be given once it is committed."""
        fold = _known(cached)
        if isinstance(fold.policy, UnknownPolicy):
            return [(job, [fold.policy.error()] * len(job.requests)) for job in jobs]
        if cached.outdated:  # the policy starts afresh on what is known
            draft = Draft(fold.seq, cached.time.now())
            draft.mark(Kind.ERA, era_note(fold, "the program's policy changed", forget=True))
            self._append(cached, draft.take(), restart=True)
            cached.outdated = False
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
        """Append what is due: a guardrail's change, an alarm, the end of an experiment, how it draws from here on."""
        try:
            due = _due(fold)
        except NotCompiled:
            raise
        except Exception as error:  # a fault in what is stated must not stop decisions: it is noted, and they go on
            fault = json.dumps({"fault": fault_text(error)})
            due = [] if fold.evidence.noted else [(Kind.STEER, fault)]
        for kind, note in due:
            draft.mark(kind, note)
        if len(draft):
            self._append(cached, draft.take())

    def _append(self, cached: CachedFold, events: Events, restart: bool = False) -> None:
        fold = _known(cached)
        fold.apply(events, restart)
        cached.time.seen(events.heads[-1][AT])
        fold.chain = events.checksum(fold.chain)
        self.storage.append(cached.number, events.rows(fold.chain))

    def _keep_snapshot(self, cached: CachedFold, every: int, each: int) -> None:
        """Store a snapshot every so many events, if it takes at most so many bytes for each of them.

        It is a convenience: the next one may succeed.
        """
        fold = cached.fold
        if fold is None or self._read_only or (fold.state is None and fold.published is None):
            return
        new = fold.seq - cached.snapshot_seq
        if new >= every and _worth_keeping(fold, new, each):
            cached.snapshot_seq = fold.seq
            with contextlib.suppress(Exception):
                body = snapshot.save(fold)
                with self.storage.transaction([cached.number]):
                    self.storage.keep_snapshot(cached.number, fold.seq, body)


def _due(fold: Fold) -> list[tuple[Kind, str]]:
    """Return the rare events that it is time for, kind and note: of guardrails, an alarm, or steering and a stop."""
    if isinstance(fold, ListFold):
        return list_due(fold)
    guards = [(Kind.GUARD, note) for note in guardrail_notes(fold)]
    if fold.stopped is not None:
        return guards
    alarm = alarm_note(fold)
    if alarm is not None:
        return [(Kind.ERA, alarm)]
    stopping, clicks = fold.settings.stopping, fold.clicks + fold.late
    steering = fold.evidence.steering_note(fold.asked, clicks, if_changed=True, waits=guardrails_wait(fold))
    won = winning_note(fold) if stopping.auto else None
    if steering is None and fold.evidence.noted:
        steering = {}  # a look failed before: that is over
    steer = None if steering is None else json.dumps(steering, separators=(",", ":"))
    due = [(kind, note) for kind, note in ((Kind.STEER, steer), (Kind.STOP, won)) if note is not None]
    return [*guards, *due]


def _worth_keeping(fold: Fold, events: int, each: int) -> bool:
    """Return whether a snapshot saves so much reading, and holds nothing that a fault in the program has spoiled."""
    return fold.nbytes <= events * each and fold.evidence.sound


def _known(cached: CachedFold) -> Fold:
    """Return the fold of an experiment that was just brought up to date."""
    assert cached.fold is not None
    return cached.fold
