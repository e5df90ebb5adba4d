"""One experiment as the service holds it: requests that wait together go to the database as one batch."""

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from rankone.live import Experiment
from rankone.live.fold.fold import Fold
from rankone.live.messages import Ask, Request
from rankone.web.dashboard_data import report_of, shown, view_of
from rankone.web.encoding import encode
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.metrics import Meters
from rankone.web.server.single_flight import SingleFlight
from rankone.web.timeline import Timeline

# A group waits this share of the last one's time, at most, for clients who were just answered and are about to come
# back: otherwise two halves of the clients take turns, and each commit serves only one half.
_LINGER = 0.6
_LONGEST = 0.1  # seconds of waiting, however long the last one took
_CALLS = 3  # threads, at most, that wait for one experiment, beside the one of its groups: others need some too
_SMALL = 4_096  # bytes, or figures
_SHARE, _VIEWS = 0.25, 0.05  # of the time, at most, is spent on reports of one experiment, and on its views


class ServedExperiment:
    """Takes requests for one experiment. While one group is carried out, the next one gathers."""

    def __init__(
        self,
        experiment: Experiment,
        pool: Executor,
        timeline: Timeline,
        meters: Meters,
        room: int,
        looking: asyncio.Semaphore,
        goals: frozenset[str] = frozenset(),
    ) -> None:
        self.experiment = experiment
        self.goals = goals  # their names never change, and are known though nothing else may be in memory
        self.shown = SingleFlight(lambda: self.call(self.experiment.look, shown))
        self.report = SingleFlight(lambda: self.call(lambda: encode(report_of(experiment).to_dict())), looking, _SHARE)
        view = functools.partial(self.call, lambda: encode(view_of(experiment, timeline)))
        self.view = SingleFlight(view, looking, _VIEWS, fresh=1.0)
        self._kept: dict[Callable[[Fold], Any], tuple[int, Any]] = {}  # what was seen, and the last event then
        self.rests_until = 0, float("-inf")  # the last event, and until when there is nothing to settle without others
        self._pool, self._meters, self._room = pool, meters, room
        self._waiting: list[tuple[Sequence[Request], asyncio.Future[list[Any]]]] = []
        self._size = 0
        self._wanted, self._enough = 0, asyncio.Event()  # a group that lingers is woken when so many wait
        self._calls = asyncio.Semaphore(_CALLS)
        self._pump: asyncio.Task[None] | None = None

    async def do(self, requests: Sequence[Request]) -> list[Any]:
        """Carry out requests in one durable commit with others; return answers and errors as `Experiment.do` does."""
        size = sum(request.count if isinstance(request, Ask) else 1 for request in requests)
        if self._size + size > self._room:
            expected = f"at most {self._room} decisions to wait"
            raise Problem(503, "busy", expected, "more", "try again in a second", retry_after=1)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()
        self._waiting.append((requests, answer))
        self._size += size
        if len(self._waiting) == self._wanted:
            self._enough.set()
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._carry_out_groups())
        return await answer

    async def one(self, request: Request) -> Any:
        """Carry out one request; return its answer or raise its error."""
        (answer,) = await self.do((request,))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def seen(self, at: Callable[[Fold], Any], end: int) -> Any:
        """Return what `at(fold)` finds, seen before or now, of the experiment whose last event is `end`.

        What is small is kept until something happens: of a thousand experiments most rest, and some not in memory.
        """
        last, seen = self._kept.get(at, (-1, None))
        if last != end:
            seen = await self.call(self.experiment.look, at)
            if len(seen) <= _SMALL:
                self._kept[at] = end, seen
        return seen

    async def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call something that may wait for the database, off the event loop."""
        await self._calls.acquire()
        work = self._off_loop(lambda: function(*arguments, **keywords))
        work.add_done_callback(lambda done: self._calls.release())  # not sooner, even if nobody waits any more
        return await asyncio.shield(work)

    def _off_loop(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def drain(self) -> None:
        """Wait until all that was accepted is answered."""
        while self._pump is not None and not self._pump.done():
            await asyncio.wait([self._pump])

    async def _linger(self, expected: int, patience: float) -> None:
        if len(self._waiting) < expected:
            self._wanted = expected
            self._enough.clear()
            timer = asyncio.get_running_loop().call_later(patience, self._enough.set)
            await self._enough.wait()
            timer.cancel()
            self._wanted = 0

    async def _carry_out_groups(self) -> None:
        expected, patience = 0, 0.0
        while self._waiting:
            await self._linger(expected, patience)
            group = [waiting for waiting in self._waiting if not waiting[1].done()]  # some have given up
            self._waiting = []
            requests = [request for asked, _ in group for request in asked]
            self._size = 0
            began = time.perf_counter()
            try:
                answers = await self._off_loop(functools.partial(self.experiment.do, requests))
            except Exception as error:
                for _, answer in group:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            took = time.perf_counter() - began
            self._meters.committed(len(requests), took)
            expected, patience = len(group) + len(self._waiting), min(_LONGEST, _LINGER * took)
            first = 0
            for asked, answer in group:
                if not answer.done():
                    answer.set_result(answers[first : first + len(asked)])
                first += len(asked)
