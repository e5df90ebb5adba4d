"""The service behind the routes: the database, the experiments it serves, who may come in, and what is counted."""

import asyncio
import contextlib
import functools
import logging
import math
import operator
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from rankone.errors import InputError, RankoneError, StorageError
from rankone.live import Database, Experiment
from rankone.live.commit.warm_up import warm_up, warm_up_all
from rankone.live.fold.fold import Fold
from rankone.live.opening import checked_policy, checked_settings
from rankone.live.report.report import Report
from rankone.live.settings import DEFAULT_POLICY
from rankone.web.dashboard_data import report_of
from rankone.web.server.access.auth import Authenticator
from rankone.web.server.access.tokens import Token, list_tokens, write_and_forget
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.request_body import BodyReader
from rankone.web.server.limits import Limits
from rankone.web.server.metrics import Meters
from rankone.web.server.request_batching import ServedExperiment
from rankone.web.server.single_flight import SingleFlight
from rankone.web.server.subprocess_tasks import run_in_subprocess
from rankone.web.timeline import Timeline
from rankone.web.webhooks.notifier import Notifier

T = TypeVar("T")
log = logging.getLogger("rankone.web")
_OPEN = (
    "No tokens: anyone who can reach this machine, also through a proxy on it, has full control. "
    "Run `rankone token create`, or serve with --require-token."
)
_COPIED = (
    "This database was copied without its -wal file while a service wrote to it, so the last events may be missing. "
    "`rankone doctor` checks it; `rankone backup` makes whole copies."
)
_TICK = 1.0  # seconds between looks for windows that are over
_THREADS, _READERS = 32, 8


class Service:
    """Everything the routes need. Made by `create_app`; started and stopped by the server."""

    def __init__(
        self, db: str | Path, durability: str, limits: Limits, require_token: bool, allowed_origins: Sequence[str]
    ) -> None:
        self.db, self.limits = db, limits
        self.database = Database(db, durability=durability)
        try:
            self.reader = Database(db, read_only=True)
        except BaseException:
            self.database.close()
            raise
        self.meters, self.body_reader = Meters(), BodyReader(limits)
        self.auth = Authenticator(self._tokens, limits, require_token, allowed_origins)
        self._require_token = require_token
        self.exporting, self.looking = asyncio.Semaphore(limits.exports), asyncio.Semaphore(limits.looks)
        self.planning = asyncio.Semaphore(limits.plans)
        self.reads = SingleFlight(self._read_something)
        self.writes = SingleFlight(functools.partial(self.off_loop, write_and_forget, self.database), fresh=_TICK)
        self.bundle = SingleFlight(functools.partial(run_in_subprocess, "bundle"), self.looking)
        self._served: dict[str, ServedExperiment] = {}
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # by experiment: some take long
        self._growing = asyncio.Lock()
        self._pool: Executor = ThreadPoolExecutor(_THREADS, "rankone")  # for experiments
        self._reading: Executor = ThreadPoolExecutor(_READERS, "rankone-reading")  # for all else, so that neither waits
        self.description = b""  # the OpenAPI document
        self.logs_requests = False
        self._ticking: asyncio.Task[None] | None = None
        self.notifier = Notifier(self.database, self.reader, self.off_loop, self._report_of)
        self._notifying: asyncio.Task[None] | None = None
        self._settling: dict[str, asyncio.Task[Any]] = {}  # experiments that a tick looks after, by name
        self._silent_until = float("-inf")
        self._said: dict[str, str] = {}  # what the tick could not do, and what was said of it

    async def start(self) -> None:
        """Begin to end windows in time, and open all experiments so that nobody has to wait for the first answer."""
        with contextlib.suppress(StorageError):  # away, or not to be written to: that is told by /health/ready
            if await self.off_loop(self.database.transactions.mark_in_use):
                log.warning(_COPIED)
        await self.off_loop(lambda: warm_up_all(self.reader.policies(), log.info, log.warning))
        self._ticking = asyncio.create_task(self._tick())
        self._notifying = asyncio.create_task(self.notifier.run())

    async def stop(self) -> None:
        """Finish what was accepted, then close."""
        if self._ticking is not None and self._notifying is not None:
            looking_after = [self._ticking, self._notifying, *self._settling.values()]
            for task in looking_after:
                task.cancel()
            await asyncio.gather(*looking_after, return_exceptions=True)
        drained = asyncio.gather(*(served.drain() for served in self._served.values()))
        try:
            await asyncio.wait_for(drained, self.limits.answer_seconds)
        except TimeoutError:  # nobody waits for the answers any more, and closing the database would be stuck too
            log.warning("the database does not answer: ended without closing it")
            return
        self.notifier.let_go()
        for pool in (self._pool, self._reading):
            pool.shutdown()
        self.reader.close()
        self.database.close()

    async def off_loop(self, function: Any, *arguments: Any) -> Any:
        """Call something that may wait, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, function, *arguments)

    async def names(self) -> list[str]:
        """Return the names of all experiments."""
        return await self.off_loop(self.reader.names)

    async def last_events(self) -> dict[str, int]:
        """Return the last event of each experiment, by name: who has it knows all that happened."""
        return await self.off_loop(self.reader.use, operator.methodcaller("last_events"))

    async def experiment(self, name: str) -> ServedExperiment:
        """Return an experiment as the service holds it, or raise that there is none."""
        served = self._served.get(name)
        if served is not None:
            return served
        if name not in await self.names():
            do = "create it, or list them: rankone experiments"
            raise Problem(404, "unknown-experiment", "No such experiment:", f"'{name[:300]}'", do)
        return await self._open(name, {})

    async def look_at_all(self, caller: Token, at: Callable[[Fold], T]) -> tuple[dict[str, T], dict[str, Exception]]:
        """Return `at(fold)` of each experiment that somebody may read, and the errors of those that are damaged."""
        seen: dict[str, T] = {}
        damaged: dict[str, Exception] = {}
        ends = await self.last_events()
        async with self.looking:
            for name in [name for name in ends if caller.may("read", name)]:
                try:
                    seen[name] = await (await self.experiment(name)).seen(at, ends[name])
                except (Problem, StorageError, TimeoutError):  # as true of the others
                    raise
                except Exception as error:
                    self._said_once(name, error)
                    damaged[name] = error
        return seen, damaged

    async def create(self, name: str, settings: dict[str, Any], by: str | None) -> tuple[ServedExperiment, bool]:
        """Return an experiment as the service holds it, made if it is new, and whether it is."""
        async with self._growing:  # one after the other, or each finds room and all together do not
            known = await self.names()
            if name in known:
                try:
                    return await self._open(name, settings), False
                except InputError as error:
                    raise Problem(409, "settings-differ", error.expected, error.got, error.do) from None
            if len(known) >= self.limits.experiments:
                expected = f"at most {self.limits.experiments} experiments"
                raise InputError(expected, len(known) + 1, "use another database")
            asked = checked_settings(settings)
            sizes = [len(levels) for _, levels in asked.get("factors", ())]
            self.check_room(sizes)
            if sizes and "positions" not in asked:  # what draws lists is compiled in the background
                policy = checked_policy(asked.get("policy", DEFAULT_POLICY), sizes)
                await self.off_loop(warm_up, policy, len(sizes))
            return await self._open(name, settings, by), True

    def check_free(self, what: str, turns: asyncio.Semaphore) -> None:
        """Refuse one more of what takes long where as many are being made as may be."""
        if turns.locked():
            expected, do = f"at most {getattr(self.limits, what)} {what} at once", "try again in some seconds"
            raise Problem(429, f"{what}-busy", expected, "more", do, retry_after=5)

    def check_room(self, sizes: Sequence[int]) -> None:
        """Refuse an experiment of these sizes if memory would be short."""
        if math.prod(sizes) > self.limits.combinations:
            do = "use fewer levels or factors; retired ones count"
            raise InputError(f"at most {self.limits.combinations} combinations", math.prod(sizes), do)

    async def _open(self, name: str, settings: dict[str, Any], by: str | None = None) -> ServedExperiment:
        async with self._opening[name]:
            served = self._served.get(name)
            if served is not None and not settings:
                return served
            open_it = functools.partial(Experiment, name, db=self.database.on_behalf_of(by), **settings)
            experiment = await asyncio.get_running_loop().run_in_executor(self._pool, open_it)
            if served is None:
                timeline = await self.off_loop(Timeline, self.reader, name)
                goals = await asyncio.get_running_loop().run_in_executor(self._pool, _goals_of, experiment)
                served = ServedExperiment(
                    experiment, self._pool, timeline, self.meters, self.limits.waiting, self.looking, goals
                )
                self._served[name] = served
            return served

    async def _report_of(self, name: str) -> Report:
        served = await self.experiment(name)
        async with self.looking:
            report: Report = await served.call(report_of, served.experiment)
            return report

    def storage_failed(self, what: str, error: StorageError) -> None:
        """Say in the log, once a second at most, what callers do not hear."""
        now = time.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + _TICK
            log.warning("%s: %s", what, error)

    async def _read_something(self) -> None:
        await self.off_loop(self.reader.use, lambda storage: (storage.check_in_place(), storage.names()))

    async def _tokens(self) -> list[Token]:
        return await self.off_loop(list_tokens, self.reader)

    async def _tick(self) -> None:
        known: list[Token] | None = [] if self._require_token else None  # None: not read yet
        while True:
            if known is None:
                known = await self._settled("the tokens", self._tokens)
                if known == []:
                    log.warning(_OPEN)
            ends = await self._settled("the database", self.last_events) or {}
            for name, end in ends.items():
                served = self._served.get(name)
                if name in self._settling:
                    continue
                if served is None or served.rests_until[0] != end or time.monotonic() >= served.rests_until[1]:
                    self._settling[name] = asyncio.create_task(self._look_after(name, end))
                    # One that takes long goes on beside the others.
                    await asyncio.wait([self._settling[name]], timeout=_TICK)
                else:
                    served.view.forget()
            await asyncio.sleep(_TICK)

    async def _look_after(self, name: str, end: int) -> None:
        await self._settled(name, functools.partial(self._settle, name, end))
        del self._settling[name]

    async def _settle(self, name: str, end: int) -> None:
        served = await self.experiment(name)
        seconds = await self.off_loop(served.experiment.settle)
        served.rests_until = end, time.monotonic() + seconds

    async def _settled(self, what: str, do: Callable[[], Awaitable[Any]]) -> Any:
        """Do a part of a tick. What is wrong with one experiment holds up no other, and is said once."""
        try:
            done = await do()
            self._said.pop(what, None)
            return done
        except Exception as error:
            self._said_once(what, error)
            return None

    def _said_once(self, what: str, error: Exception) -> None:
        if self._said.get(what) != str(error):
            self._said[what] = str(error)
            known = isinstance(error, (RankoneError, Problem))
            log.warning("looking after %s: %s", what, error, exc_info=not known)


def _goals_of(experiment: Experiment) -> frozenset[str]:
    return frozenset(goal.name for goal in experiment.settings.all_goals)
