"""The client for programs on asyncio: the same requests, made by a pool of threads, so that the event loop never waits.

Threads were measured, and not assumed: `python -m benchmarks async_client`.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from rankone.client.client import Client, RemoteExperiment

if TYPE_CHECKING:
    from rankone.live.messages import AskDetails, Decision, Outcome
    from rankone.live.report.report import Report

Found = TypeVar("Found")


class AsyncClient:
    """A service that runs experiments, for `async` programs.

    Args:
        url: address of the service, such as ``http://127.0.0.1:8000``.
        token: what `rankone token create` printed; None: the service serves its own machine.
        patience: seconds to go on trying while the service is away, busy or restarting.
        timeout: seconds to wait for one answer.
        threads: requests under way at once, at most; more wait.

    >>> AsyncClient("http://127.0.0.1:8000").experiment("homepage")
    <AsyncExperiment 'homepage'>
    """

    def __init__(
        self, url: str, token: str | None = None, *, patience: float = 10.0, timeout: float = 30.0, threads: int = 32
    ) -> None:
        self.client = Client(url, token, patience=patience, timeout=timeout)
        self._pool = ThreadPoolExecutor(threads, "rankone-client")

    def __repr__(self) -> str:
        return repr(self.client).replace("Client", "AsyncClient", 1)

    async def call(self, function: Callable[..., Found], *arguments: Any, **keywords: Any) -> Found:
        """Call anything of `client`, or of an experiment's `remote`, in a thread."""
        do = functools.partial(function, *arguments, **keywords)
        return await asyncio.get_running_loop().run_in_executor(self._pool, do)

    def experiment(self, name: str) -> AsyncExperiment:
        """Return an experiment that is there; nothing is sent yet."""
        return AsyncExperiment(self, self.client.experiment(name))

    async def create(self, name: str, *arguments: Any, **settings: Any) -> AsyncExperiment:
        """Create an experiment, or find that it is there with these settings, as `rankone.Client.create` does."""
        return AsyncExperiment(self, await self.call(self.client.create, name, *arguments, **settings))

    async def close(self) -> None:
        """Wait for requests under way, and close the connections."""
        await asyncio.to_thread(self._pool.shutdown)
        self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class AsyncExperiment:
    """An experiment at a service: its methods are those of `rankone.Experiment`, to be awaited."""

    def __init__(self, client: AsyncClient, remote: RemoteExperiment) -> None:
        self.remote, self._call = remote, client.call

    def __repr__(self) -> str:
        return f"<AsyncExperiment {self.remote.name!r}>"

    async def ask(self, **details: Unpack[AskDetails]) -> Decision:
        """Return the next decision."""
        return await self._call(self.remote.ask, **details)

    async def tell(
        self, decision: str | Decision, clicked: bool | Sequence[int | str] | None = None, **more: Any
    ) -> Outcome:
        """Tell the outcome of a decision."""
        return await self._call(self.remote.tell, decision, clicked, **more)

    async def tell_many(
        self, outcomes: Iterable[tuple[str | Decision, bool | float]], **more: Any
    ) -> list[Outcome | Exception]:
        """Tell many outcomes at once."""
        return await self._call(self.remote.tell_many, outcomes, **more)

    async def track(self, visitor: str, goal: str, value: float | None = None, **more: Any) -> Outcome:
        """Tell an outcome of a visitor."""
        return await self._call(self.remote.track, visitor, goal, value, **more)

    async def void(self, decision: str | Decision) -> Outcome:
        """Close a decision that was never shown."""
        return await self._call(self.remote.void, decision)

    async def report(self) -> Report:
        """Return what leads, and how sure that is."""
        return await self._call(self.remote.report)
