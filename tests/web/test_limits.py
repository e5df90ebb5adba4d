"""Every limit at it and one above it. `CASES` must name every limit there is."""

import asyncio
import dataclasses
import json
import threading

import pytest

from rankone.live import Ask, Database, Void
from rankone.web.server.access.auth import Authenticator
from rankone.web.server.access.tokens import create_token, list_tokens
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.http.request_body import BodyReader
from rankone.web.server.limits import Limits
from rankone.web.server.metrics import Meters
from rankone.web.server.request_batching import ServedExperiment
from rankone.web.server.service import Service
from rankone.web.server.single_flight import SingleFlight

from . import test_connection_limits
from .helpers import HOMEPAGE, Api, running

SMALL = Limits(body_bytes=2_000, create_body_bytes=400_000, combinations=600, max_open=50, experiments=9, exports=1)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A service with small limits."""
    with running(tmp_path_factory.mktemp("small") / "rankone.db", limits=SMALL) as url:
        api = Api(url)
        assert api("POST", "/v1/experiments", HOMEPAGE).status == 201
        yield api


@pytest.fixture(scope="module")
def usual(api):
    """A service with the limits everybody has."""
    return api


def create(api, **changes):
    return api("POST", "/v1/experiments", HOMEPAGE | changes)


def padded(size, body):
    """JSON of exactly `size` bytes."""
    content = json.dumps(body).encode()
    return content + b" " * (size - len(content))


def test_body_bytes(small):
    assert small.on("homepage", "POST", "/ask", raw=padded(2_000, {})).status == 200
    for size in (2_001, 7_999, 50_000):
        above = small.on("homepage", "POST", "/ask", raw=padded(size, {}))
        assert (above.status, above.code) == (413, "body-too-large")


def test_create_body_bytes(usual):
    body = HOMEPAGE | {"name": "padded"}
    limit = Limits().create_body_bytes
    assert usual("POST", "/v1/experiments", raw=padded(limit, body)).status == 201
    assert usual("POST", "/v1/experiments", raw=padded(limit + 1, body)).code == "body-too-large"


def test_visit_body_bytes(usual):
    """Strangers' bodies are read, so they must be small; the largest that may be meant fits."""
    largest = {"visitor": "\U0001f600" * 100, "token": "t" * 256}
    assert len(json.dumps(largest)) < Limits().visit_body_bytes
    for path, body in (("/visit", {}), ("/beacon", {"id": "x"})):
        assert usual.on("homepage", "POST", path, raw=padded(2_048, body)).status != 413
        for size in (2_049, 200_000):
            assert usual.on("homepage", "POST", path, raw=padded(size, body)).code == "body-too-large"


class Client:
    """One that sends a body part by part."""

    def __init__(self, bodies, limit=1_000):
        self._parts = asyncio.Queue()
        self._reading = asyncio.create_task(bodies.read(self._parts.get, limit))

    async def send(self, part, more=True):
        self._parts.put_nowait({"type": "http.request", "body": part, "more_body": more})
        for _ in range(3):
            await asyncio.sleep(0)

    async def refusal(self):
        with pytest.raises(Problem) as refused:
            await self._reading
        return refused.value.status, refused.value.code, refused.value.headers

    async def body(self):
        return await self._reading


def test_bodies_bytes():
    """All bodies that wait for their rest have a limit together; when one goes, there is room again."""

    async def crowd():
        bodies = BodyReader(dataclasses.replace(Limits(), bodies_bytes=1_000))
        first, second = Client(bodies), Client(bodies)
        await first.send(b"1" * 600)
        await second.send(b"2" * 400)
        third, whole = Client(bodies), Client(bodies)
        await third.send(b"3")
        assert await third.refusal() == (503, "busy", {"Connection": "close", "Retry-After": "1"})
        await whole.send(b"4" * 1_000, more=False)
        assert await whole.body() == b"4" * 1_000  # what is there at once needs no room
        await second.send(b"", more=False)
        assert await second.body() == b"2" * 400
        await first.send(b"1" * 400)
        assert bodies.held == 1_000
        await first.send(b"1")  # above its own limit, it is thrown away
        assert bodies.held == 0
        await first.send(b"1" * 3_000)
        assert await first.refusal() == (413, "body-too-large", {"Connection": "close"})
        gone = Client(bodies)
        await gone.send(b"5")
        gone._parts.put_nowait({"type": "http.disconnect"})
        assert (await gone.refusal())[:2] == (400, "cut-off")
        assert bodies.held == 0

    asyncio.run(crowd())


def test_body_seconds():
    async def slow():
        bodies = BodyReader(dataclasses.replace(Limits(), body_seconds=0.01))
        client = Client(bodies)
        await client.send(b"{")
        assert await client.refusal() == (408, "too-slow", {"Connection": "close"})
        assert bodies.held == 0

    asyncio.run(slow())


def test_batch(usual):
    decisions = usual.on("homepage", "POST", "/ask", {"count": 1000}).json()["decisions"]
    above = usual.on("homepage", "POST", "/ask", {"count": 1001})
    assert (len(decisions), above.status, above.code) == (1000, 422, "invalid")
    outcomes = [{"id": decision["id"], "clicked": False} for decision in decisions]
    assert usual.on("homepage", "POST", "/tell", {"outcomes": outcomes}).status == 200
    above = usual.on("homepage", "POST", "/tell", {"outcomes": [*outcomes, outcomes[0]]})
    assert (above.status, above.code) == (422, "invalid")


def test_name_length(usual):
    assert create(usual, name="n" * 256, rows=["r" * 256, "B"]).status == 201
    assert create(usual, name="n" * 257).code == "invalid"
    assert create(usual, name="long row", rows=["r" * 257, "B"]).code == "invalid"
    for size, status in ((256, 200), (257, 422)):
        assert usual.on("homepage", "POST", "/ask", {"source": "s" * size}).status == status
        key = {"Idempotency-Key": "k" * size}
        assert usual.on("homepage", "POST", "/ask", headers=key).status == status


def test_levels(usual):
    names = [str(number) for number in range(10_001)]
    assert create(usual, name="many rows", rows=names[:10_000], cols=["1"]).status == 201
    assert create(usual, name="too many rows", rows=names, cols=["1"]).code == "invalid"
    assert create(usual, name="too many", rows=10_001, cols=1).code == "invalid"


def test_combinations(small):
    assert create(small, name="combinations", rows=30, cols=20).status == 201
    assert create(small, name="more combinations", rows=601, cols=1).code == "invalid"
    assert small.on("combinations", "POST", "/levels/add", {"factor": "row", "name": "one more"}).code == "invalid"


def test_max_open(small):
    assert create(small, name="max open", outcomes={"max_open": 50}).status == 201
    assert create(small, name="more open", outcomes={"max_open": 51}).code == "invalid"


def test_open_decisions(small):
    assert create(small, name="few open", outcomes={"max_open": 3}).status == 201
    assert small.on("few open", "POST", "/ask", {"count": 3}).status == 200
    above = small.on("few open", "POST", "/ask")
    assert (above.status, above.code, above.headers["Retry-After"]) == (429, "too-many-open", "1")
    from rankone.live.settings import MAX_OPEN

    assert Limits().open_decisions == MAX_OPEN


def test_experiments(tmp_path):
    with running(tmp_path / "rankone.db", limits=dataclasses.replace(Limits(), experiments=2)) as url:
        api = Api(url)
        assert [create(api, name=name).status for name in ("one", "two")] == [201, 201]
        above = create(api, name="three")
        assert (above.status, above.code) == (422, "invalid")
        assert create(api, name="two").status == 200  # those that are there stay


@pytest.mark.parametrize("own", [None, 5])
def test_decisions_per_second(tmp_path, own):
    database = Database(tmp_path / "rankone.db")
    token = create_token(database, ["read"], rate=own)
    tokens, now = list_tokens(database), [100.0]
    database.close()

    async def load():
        return tokens

    limits = dataclasses.replace(Limits(), decisions_per_second=8)
    auth = Authenticator(load, limits, clock=lambda: now[0])

    def knock():
        return asyncio.run(auth.admit({"authorization": f"Bearer {token}"}, None))

    rate = own or 8
    for _ in range(rate):
        knock()
    with pytest.raises(Problem) as refused:
        knock()
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (429, "too-many-requests", 1)
    now[0] += 1.0
    for _ in range(rate):
        knock()
    with pytest.raises(Problem):
        knock()


def test_a_batch_counts_for_what_it_holds(tmp_path):
    """Batches larger than the rate get through, one at a time: the decisions per second are as many as were allowed."""
    limits = dataclasses.replace(Limits(), decisions_per_second=10)
    with running(tmp_path / "rankone.db", limits=limits) as url:
        api = Api(url)
        assert create(api).status == 201
        asked = api.on("homepage", "POST", "/ask", {"count": 1000})
        assert len(asked.json()["decisions"]) == 1000
        refused = api.on("homepage", "POST", "/ask")
        assert (refused.status, refused.code) == (429, "too-many-requests")
        assert 1 < int(refused.headers["Retry-After"]) <= 100  # until the debt is paid
        assert "at most 10 decisions and outcomes per second" in refused.json()["detail"]


def test_batches_sent_together_do_not_all_pass(tmp_path):
    """Bodies that are completed after all of them were let in: only the first is carried out."""

    async def nobody():
        return []

    async def crowd():
        auth = Authenticator(nobody, dataclasses.replace(Limits(), decisions_per_second=10), clock=lambda: 100.0)
        callers = [await auth.admit({"host": "127.0.0.1"}, ("127.0.0.1", 1)) for _ in range(5)]
        auth.charge(callers[0], 999)
        for caller in callers[1:]:
            with pytest.raises(Problem) as refused:
                auth.charge(caller, 999)
            assert refused.value.status == 429

    asyncio.run(crowd())


def test_outcomes_count_as_decisions_do(tmp_path):
    limits = dataclasses.replace(Limits(), decisions_per_second=10)
    with running(tmp_path / "rankone.db", limits=limits) as url:
        api = Api(url)
        assert create(api).status == 201
        outcomes = [{"id": "1-aa", "clicked": True}] * 100
        assert api.on("homepage", "POST", "/tell", {"outcomes": outcomes}).status == 200
        assert api.on("homepage", "POST", "/tell", {"outcomes": outcomes}).code == "too-many-requests"


def test_decisions_per_second_over_http(tmp_path):
    limits = dataclasses.replace(Limits(), decisions_per_second=1)
    with running(tmp_path / "rankone.db", limits=limits) as url:
        answers = [Api(url)("GET", "/v1/experiments") for _ in range(20)]
        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        assert {(answer.code, answer.headers["Retry-After"]) for answer in refused} == {("too-many-requests", "1")}


def test_waiting():
    from concurrent.futures import ThreadPoolExecutor

    gate = threading.Event()

    class Patient:
        name = "patient"

        def do(self, requests):
            gate.wait()
            return [None for _ in requests]

    async def crowd():
        with ThreadPoolExecutor(1) as pool:
            served = ServedExperiment(Patient(), pool, None, Meters(), 3, asyncio.Semaphore())
            first = asyncio.create_task(served.do([Ask()]))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # the first is being carried out; three decisions more may wait
            waiting = [asyncio.create_task(served.do([request])) for request in (Ask(2), Void("x"))]
            await asyncio.sleep(0)
            with pytest.raises(Problem) as refused:
                await served.do([Ask()])
            gate.set()
            assert await asyncio.gather(first, *waiting) == [[None]] * 3
            return refused.value

    refused = asyncio.run(crowd())
    assert (refused.status, refused.code, refused.retry_after) == (503, "busy", 1)


def test_looks(tmp_path):
    """Reports of many experiments wait for each other."""
    from .test_single_flight import Work

    async def crowd():
        service = Service(tmp_path / "rankone.db", "off", dataclasses.replace(Limits(), looks=2), False, [])
        work = Work()
        await asyncio.gather(*(SingleFlight(work, service.looking).get() for _ in range(6)))
        await service.stop()
        return work.made, work.most

    assert asyncio.run(crowd()) == (6, 2)


def test_exports(small):
    answers, barrier = [], threading.Barrier(4)

    def export():
        barrier.wait()
        answers.append(small.on("homepage", "GET", "/export"))

    threads = [threading.Thread(target=export) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status != 200]
    assert len(good) == 1
    assert {(answer.status, answer.code, answer.headers["Retry-After"]) for answer in refused} == {
        (429, "exports-busy", "5")
    }


def test_export_mebibytes(tmp_path):
    with running(tmp_path / "rankone.db", limits=dataclasses.replace(Limits(), export_mebibytes=16)) as url:
        assert create(Api(url)).status == 201
        above = Api(url).on("homepage", "GET", "/export")
    assert (above.status, above.code) == (503, "task-failed")
    assert "`rankone export`" in above.json()["detail"]


def test_export_seconds(tmp_path):
    with running(tmp_path / "rankone.db", limits=dataclasses.replace(Limits(), export_seconds=0.01)) as url:
        assert create(Api(url)).status == 201
        above = Api(url).on("homepage", "GET", "/export")
    assert (above.status, above.code, above.headers["Retry-After"]) == (503, "too-slow", "1")


def test_plans(usual):
    body = {"factors": {"a": 1, "b": 2}, "rate": 0.2, "lift": 1.0, "aim": "decide"}
    answers, barrier = [], threading.Barrier(3)

    def plan():
        barrier.wait()
        answers.append(usual("POST", "/v1/plan", body))

    threads = [threading.Thread(target=plan) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [answer for answer in answers if answer.status != 200]
    assert len(refused) == 2
    assert {(each.status, each.code, each.headers["Retry-After"]) for each in refused} == {(429, "plans-busy", "5")}


def test_plan_levels(usual):
    above = usual("POST", "/v1/plan", {"factors": {"a": 63, "b": 2}, "rate": 0.2, "lift": 1.0})
    assert (above.status, above.code) == (422, "invalid")
    assert above.json()["expected"] == "at most 64 levels together"


def test_every_limit_has_its_test():
    tested = {
        name.removeprefix("test_") for name in (*globals(), *vars(test_connection_limits)) if name.startswith("test_")
    }
    assert {field.name for field in dataclasses.fields(Limits)} <= tested
