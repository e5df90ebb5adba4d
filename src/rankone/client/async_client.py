"""The client for programs on asyncio: the same requests, made by a pool of threads, so that the event loop never waits.

Threads were measured, and not assumed: `python -m benchmarks async_client`.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from rankone.client.client import Client, RemoteExperiment

Found = TypeVar("Found")
Given = ParamSpec("Given")


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


def _awaited(
    method: Callable[Concatenate[RemoteExperiment, Given], Found],
) -> Callable[Concatenate[AsyncExperiment, Given], Coroutine[Any, Any, Found]]:
    """Return a method of an experiment at a service, to be awaited."""

    async def call(self: AsyncExperiment, *arguments: Given.args, **keywords: Given.kwargs) -> Found:
        return await self._call(method, self.remote, *arguments, **keywords)

    named: Any = functools.wraps(method)(call)
    return named


class AsyncExperiment:
    """An experiment at a service: its methods are those of `rankone.Experiment`, to be awaited."""

    def __init__(self, client: AsyncClient, remote: RemoteExperiment) -> None:
        self.remote, self._call = remote, client.call

    def __repr__(self) -> str:
        return f"<AsyncExperiment {self.remote.name!r}>"

    ask = _awaited(RemoteExperiment.ask)
    tell = _awaited(RemoteExperiment.tell)
    tell_many = _awaited(RemoteExperiment.tell_many)
    track = _awaited(RemoteExperiment.track)
    void = _awaited(RemoteExperiment.void)
    report = _awaited(RemoteExperiment.report)
    stop = _awaited(RemoteExperiment.stop)
    resume = _awaited(RemoteExperiment.resume)
    weights = _awaited(RemoteExperiment.weights)
    ingest = _awaited(RemoteExperiment.ingest)
