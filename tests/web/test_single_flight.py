"""What is shared is made once at a time, is never older than the question, and has its part of the time only."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from rankone.web.server.single_flight import SingleFlight


class Work:
    """Something that takes a while; counts how often, and how many at once."""

    def __init__(self, seconds=0.01):
        self.seconds, self.made, self.now, self.most = seconds, 0, 0, 0

    async def __call__(self):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        self.made += 1
        return self.made


def test_those_who_wait_share_one():
    async def crowd():
        work = Work()
        shared = SingleFlight(work)
        first = asyncio.create_task(shared.get())
        await asyncio.sleep(0.005)  # it is being made: too old for those who come now
        others = await asyncio.gather(*(shared.get() for _ in range(40)))
        assert (await first, set(others), work.made, work.most) == (1, {2}, 2, 1)
        assert await shared.get() == 3

    asyncio.run(crowd())


def test_who_gives_up_stops_nobody():
    async def crowd():
        shared = SingleFlight(Work())
        impatient, patient = (asyncio.create_task(shared.get()) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        assert await patient == 1

    asyncio.run(crowd())


def test_errors_reach_all_who_wait_and_the_next_one_tries_again():
    async def crowd():
        answers = iter([ValueError("no"), None])

        async def make():
            error = next(answers)
            if error is not None:
                raise error
            return "made"

        shared = SingleFlight(make)
        found = await asyncio.gather(*(shared.get() for _ in range(3)), return_exceptions=True)
        assert [str(error) for error in found] == ["no"] * 3
        assert await shared.get() == "made"

    asyncio.run(crowd())


@pytest.mark.parametrize(("fresh", "made"), [(60.0, 1), (0.0, 3)])
@pytest.mark.parametrize("returns", [lambda made: made, lambda made: None], ids=["something", "nothing"])
def test_it_is_used_again_while_it_is_fresh(fresh, made, returns):
    async def crowd():
        work = Work(0.0)

        async def make():
            return returns(await work())

        shared = SingleFlight(make, fresh=fresh)
        for _ in range(3):
            last = await shared.get()
        assert (last, work.made) == (returns(made), made)

    asyncio.run(crowd())


def test_it_takes_its_share_of_the_time_only():
    async def crowd():
        shared = SingleFlight(Work(0.02), share=0.25)
        began = time.monotonic()
        for _ in range(3):
            await shared.get()
        assert time.monotonic() - began >= 3 * 0.02 + 2 * 3 * 0.02

    asyncio.run(crowd())


def test_what_is_fresh_is_used_again_until_it_is_too_old(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("rankone.web.server.single_flight.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def look():
        work = Work()
        shared = SingleFlight(work, fresh=1.0)
        assert [await shared.get(), await shared.get()] == [1, 1]
        now[0] += 0.99
        shared.forget()
        assert await shared.get() == 1
        now[0] += 0.02
        shared.forget()
        assert shared._kept is None
        assert await shared.get() == 2

    asyncio.run(look())


def test_what_failed_leaves_nothing_to_be_used_again(monkeypatch):
    now, fails = [100.0], [False, True, True]
    monkeypatch.setattr("rankone.web.server.single_flight.time", SimpleNamespace(monotonic=lambda: now[0]))

    async def make():
        if fails.pop(0):
            raise ValueError("away")

    async def look():
        shared = SingleFlight(make, fresh=1.0)
        await shared.get()
        now[0] += 2.0
        for _ in range(2):
            with pytest.raises(ValueError, match="away"):
                await shared.get()

    asyncio.run(look())
