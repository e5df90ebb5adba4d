"""`rankone.AsyncClient`: its threads beside the plain client, and how long the event loop waits meanwhile.

Both ask the same service on this machine. Seconds are those of the client's program and of the service together, as they
share the cores; so the ratio of processor time says more than that of asks a second.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from tests.web.helpers import ServerProcess

import rankone

ASKS, AT_ONCE = 3_000, 32


def plain(url: str) -> tuple[float, float]:
    """Return seconds and processor seconds of asks one after the other."""
    with rankone.Client(url) as client:
        page = client.experiment("homepage")
        page.ask()
        began, used = time.perf_counter(), time.process_time()
        for _ in range(ASKS):
            page.ask()
        return time.perf_counter() - began, time.process_time() - used


async def in_threads(url: str) -> tuple[float, float, float]:
    """Return the same of asks of many tasks at once, and the longest time for which the loop did nothing else."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before - 0.001)

    async with rankone.AsyncClient(url, threads=AT_ONCE) as client:
        page = client.experiment("homepage")
        await asyncio.gather(*(page.ask() for _ in range(AT_ONCE)))

        async def visitor() -> None:
            for _ in range(ASKS // AT_ONCE):
                await page.ask()

        watching = asyncio.create_task(watch())
        began, used = time.perf_counter(), time.process_time()
        await asyncio.gather(*(visitor() for _ in range(AT_ONCE)))
        taken = time.perf_counter() - began, time.process_time() - used, longest
        watching.cancel()
        return taken


def report() -> str:
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder, "rankone.db"), log_folder=Path(folder))
        try:
            with rankone.Client(server.url) as client:
                client.create("homepage", factors={"headline": ["A", "B"]}, seed=1)
            one, many = plain(server.url), asyncio.run(in_threads(server.url))
        finally:
            server.process.terminate()
            server.process.wait()
    lines = [
        "| client | asks a second | of the plain one's | processor time an ask, of the plain one's |",
        "|---|---|---|---|",
    ]
    lines += [f"| `Client`, one after the other | {ASKS / one[0]:,.0f} | 1 | 1 |"]
    asks = ASKS // AT_ONCE * AT_ONCE
    ratio, cost = (asks / many[0]) / (ASKS / one[0]), (many[1] / asks) / (one[1] / ASKS)
    lines += [f"| `AsyncClient`, {AT_ONCE} tasks | {asks / many[0]:,.0f} | {ratio:.1f} | {cost:.2f} |"]
    return "\n".join([*lines, "", f"Meanwhile the event loop waited at most {1e3 * many[2]:.0f} ms for its turn."])
