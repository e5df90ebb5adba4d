"""Waiting for work: what costs much is made once for all who wait, and nobody waits for ever."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Makes something for everybody who waits for it. What is returned was begun after it was asked for.

    Args:
        make: makes it.
        slots: where it waits for its turn among other things that cost much.
        share: of the time, at most, is spent on making it; so the next one may have to wait.
        fresh: seconds for which it is used again, or longer where its share asks for that.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[T]],
        slots: asyncio.Semaphore | None = None,
        share: float = 1.0,
        fresh: float = 0.0,
    ) -> None:
        self._make, self._slots, self._share, self._fresh = make, slots, share, fresh
        self._last: asyncio.Task[T] | None = None  # being made, or made
        self._next: asyncio.Task[T] | None = None  # not begun yet
        self._kept: asyncio.Task[T] | None = None  # what is used again
        self._not_before = self._until = float("-inf")

    async def get(self) -> T:
        """Return one that is new enough. A caller that gives up waiting does not stop the others."""
        if self._kept is not None and time.monotonic() < self._until:
            return self._kept.result()
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._last))
            self._next.add_done_callback(_heard)
        return await asyncio.shield(self._next)

    def forget(self) -> None:
        """Forget what is too old to be used again: it may be large."""
        if time.monotonic() >= self._until:
            self._kept = None

    async def _after(self, last: asyncio.Task[T] | None) -> T:
        if last is not None and not last.done():
            await asyncio.wait([last])
        await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
        async with self._slots or contextlib.nullcontext():
            self._last, self._next, self._kept = self._next, None, None  # who comes from now on gets a newer one
            began = time.monotonic()
            try:
                made = await self._make()
                self._kept = self._last if self._fresh else None
                return made
            finally:
                now = time.monotonic()
                self._not_before = now + (now - began) * (1.0 / self._share - 1.0)
                self._until = max(now + self._fresh, self._not_before)
                self._last = None  # what was made is for those who wait: it may be large


async def while_connected(receive: Receive, work: Awaitable[T]) -> T:
    """Return what comes of `work`, or give it up when the client leaves: ClientLeft."""
    task, left = asyncio.ensure_future(work), asyncio.create_task(_leaves(receive))
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        left.cancel()
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):  # it cleans up
                await task


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


async def _leaves(receive: Receive) -> None:
    """Return when the client is gone. What it still sends is not wanted."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _heard(task: asyncio.Task[T]) -> None:
    """Its error is for those who wait; where nobody does any more, it is not to be complained about."""
    if not task.cancelled():
        task.exception()
