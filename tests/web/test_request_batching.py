"""Requests that wait together go to the database as one batch."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankone.live import Ask
from rankone.web.server import request_batching
from rankone.web.server.metrics import Meters
from rankone.web.server.request_batching import ServedExperiment


class Recorded:
    """An experiment that answers each request by itself and notes how many came together; the first ones take long."""

    def __init__(self):
        self.sizes, self.go_on = [], threading.Event()

    def do(self, requests):
        self.go_on.wait()
        self.sizes.append(len(requests))
        return requests


@pytest.mark.parametrize(("patience", "back"), [(1e6, 2), (0.01, 1)])
def test_a_group_waits_for_those_just_answered_until_they_are_back_or_its_time_is_over(monkeypatch, patience, back):
    monkeypatch.setattr(request_batching, "_LINGER", 1e9)
    monkeypatch.setattr(request_batching, "_LONGEST", patience)
    experiment = Recorded()

    async def visit(pool):
        served = ServedExperiment(experiment, pool, None, Meters(), 100, asyncio.Semaphore(1))
        visitors = [asyncio.create_task(_visit(served, 1 + (place < back))) for place in range(2)]
        await asyncio.sleep(0.01)  # their group is at work
        visitors.append(asyncio.create_task(_visit(served, 1)))
        await asyncio.sleep(0)  # the third one waits
        experiment.go_on.set()
        await asyncio.wait_for(asyncio.gather(*visitors), 60)  # rather than for ever, should nobody wake the group

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(visit(pool))
    assert experiment.sizes == [2, 1 + back]


async def _visit(served, times):
    for _ in range(times):
        await served.one(Ask())
