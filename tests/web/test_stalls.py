"""A database that does not answer: every request does all the same, in time, and what needs no database goes on."""

import asyncio
import contextlib
import dataclasses
import os
import shutil
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankone.errors import StorageError
from rankone.live import Ask, Database, Experiment
from rankone.live.operate.doctor import examine
from rankone.web.server import service
from rankone.web.server.access.auth import Authenticator
from rankone.web.server.access.tokens import create_token, list_tokens
from rankone.web.server.limits import Limits
from rankone.web.server.metrics import Meters
from rankone.web.server.options import ServerOptions
from rankone.web.server.request_batching import ServedExperiment
from rankone.web.server.serve import greeting
from tests.live.helpers import start

from .helpers import HOMEPAGE, Api, running, until

QUICK = dataclasses.replace(Limits(), answer_seconds=0.5)
STUCK = 60  # seconds after which a service would count as stuck


@contextlib.contextmanager
def frozen(db):
    """Freeze what a database works with: the file by a lock, every backend of a server by SIGSTOP."""
    if "://" not in str(db):
        with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    if not db.startswith("postgresql"):
        pytest.skip("nobody has said how to freeze this kind of database")
    import psycopg

    with psycopg.connect(db, autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        backends = [pid for (pid,) in connection.execute(query).fetchall()]
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in backends:
            os.kill(pid, signal.SIGCONT)


def crowd(times, do):
    with ThreadPoolExecutor(times) as pool:
        return [asked.result(STUCK) for asked in [pool.submit(do) for _ in range(times)]]


def test_every_request_is_answered_while_the_database_is_not_there(db):
    start(db, policy="ucb1").close()
    with running(db, limits=QUICK) as url:
        api = Api(url)
        while api.on("homepage", "POST", "/ask").status != 200:
            pass  # kernels may have to be compiled first
        with frozen(db):
            answers = crowd(100, lambda: api.on("homepage", "POST", "/ask"))
            assert {(answer.status, answer.code) for answer in answers} == {(503, "too-slow")}
            assert {answer.headers["Retry-After"] for answer in answers} == {"1"}
            assert crowd(50, lambda: api("GET", "/health/ready").status) == [503] * 50
            for path in ("/health/live", "/", "/openapi.json"):
                assert api("GET", path).status == 200
        deadline = time.monotonic() + STUCK
        while api.on("homepage", "POST", "/ask").status != 200:
            assert time.monotonic() < deadline, "it does not come back"
        assert api("GET", "/health/ready").status == 200
    assert all(finding.ok for finding in examine(db))


def test_answer_seconds_and_the_tokens_that_are_known(tmp_path):
    """The table of tokens cannot be read for now: who is known stays known, and nobody waits long for that."""
    with Database(tmp_path / "rankone.db") as database:
        token = create_token(database, ["read"])
        tokens = list_tokens(database)
    looks, now = [], [100.0]

    async def load():
        looks.append(now[0])
        if len(looks) == 2:
            raise StorageError("the database", "none", "wait")
        if len(looks) > 2:
            await asyncio.sleep(STUCK)
        return tokens

    async def visit():
        auth = Authenticator(load, Limits(), clock=lambda: now[0])
        for _ in range(4):
            now[0] += 10.0
            assert (await auth.admit({"authorization": f"Bearer {token}"}, None)).may("read", None)

    asyncio.run(asyncio.wait_for(visit(), STUCK / 2))
    assert len(looks) == 3  # the one that hangs is not asked for again


class Sluggish:
    """An experiment whose commits take long."""

    name = "sluggish"

    def do(self, requests):
        time.sleep(0.3)
        return [None for _ in requests]


class Watched(ServedExperiment):
    """Notes how long it would wait for clients to come back."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.waits = []

    async def _linger(self, expected, patience):
        self.waits.append(patience)


def test_a_slow_commit_makes_nobody_wait_longer_for_the_next():
    async def ask():
        with ThreadPoolExecutor(1) as pool:
            served = Watched(Sluggish(), pool, None, Meters(), 10, asyncio.Semaphore())
            first = asyncio.create_task(served.do([Ask()]))
            await asyncio.sleep(0.1)
            await asyncio.gather(first, served.do([Ask()]))
            return served.waits

    assert max(asyncio.run(ask())) == 0.1


def test_requests_that_were_given_up_are_not_carried_out():
    done, gate = [], threading.Event()

    class Patient:
        name = "patient"

        def do(self, requests):
            gate.wait(STUCK)
            done.extend(requests)
            return [None for _ in requests]

    async def ask():
        with ThreadPoolExecutor(1) as pool:
            served = ServedExperiment(Patient(), pool, None, Meters(), 100, asyncio.Semaphore())
            begun = asyncio.create_task(served.do([Ask(key="begun")]))
            await asyncio.sleep(0.05)
            waiting = [asyncio.create_task(served.do([Ask(key=key)])) for key in ("given up", "kept")]
            await asyncio.sleep(0)
            waiting[0].cancel()
            gate.set()
            await asyncio.gather(begun, waiting[1])
            await served.drain()

    asyncio.run(ask())
    assert [request.key for request in done] == ["begun", "kept"]


def test_an_experiment_that_takes_long_to_open_holds_up_no_other(sqlite_db, monkeypatch):
    for name in ("long", "shop"):
        Experiment(name, ["A", "B"], ["1", "2"], "ucb1", sqlite_db).close()
    begun, go_on = threading.Event(), threading.Event()

    def opened(name, **settings):
        if name == "long":
            begun.set()
            go_on.wait(STUCK)
        return Experiment(name, **settings)

    monkeypatch.setattr(service, "Experiment", opened)
    limits = dataclasses.replace(Limits(), answer_seconds=10)
    with running(sqlite_db, limits=limits) as url, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(Api(url).on, "long", "POST", "/ask")
        assert begun.wait(STUCK)
        try:
            assert Api(url).on("shop", "POST", "/ask").status == 200
        finally:
            go_on.set()
        assert asked.result().status == 200


def test_one_that_takes_long_to_look_after_holds_up_no_other(sqlite_db, monkeypatch):
    """An interrupted exclusion is being finished, for example: the windows of others end all the same."""
    begun, go_on = threading.Event(), threading.Event()

    def settle(self, original=Experiment.settle):
        if self.name == "long":
            begun.set()
            go_on.wait()
        return original(self)

    monkeypatch.setattr(Experiment, "settle", settle)
    with Database(sqlite_db) as database:
        start(database, name="long")
        shop = start(database, name="shop", outcomes={"window": 1})
        with running(sqlite_db):
            try:
                assert begun.wait(STUCK)
                shop.ask()
                until(lambda: shop.look(lambda fold: fold.expired) == 1)
            finally:
                go_on.set()


def test_those_who_wait_for_one_experiment_leave_threads_to_others():
    async def crowd():
        go_on = threading.Event()
        with ThreadPoolExecutor(8) as pool:
            stuck, other = (
                ServedExperiment(Sluggish(), pool, None, Meters(), 10, asyncio.Semaphore()) for _ in range(2)
            )
            waiting = [asyncio.create_task(stuck.call(go_on.wait, STUCK)) for _ in range(40)]
            await asyncio.sleep(0)
            for given_up in waiting[:20]:  # their threads wait all the same
                given_up.cancel()
            try:
                async with asyncio.timeout(10):
                    return await other.do([Ask()]), await other.call(lambda: "answered")
            finally:
                go_on.set()
                await asyncio.gather(*waiting, return_exceptions=True)

    assert asyncio.run(crowd()) == ([None], "answered")


def test_ready_writes_and_leaves_nothing(db):
    with running(db, durability="full") as url:
        api = Api(url)
        assert api("GET", "/health/ready").json()["status"] == "ok"
        assert api("POST", "/v1/experiments", HOMEPAGE).status == 201
    with Database(db) as database:
        assert list_tokens(database) == []
    assert all(finding.ok for finding in examine(db))


def test_ready_is_a_write_to_the_disk(sqlite_db):
    from rankone.web.server.access.tokens import write_and_forget

    with Database(sqlite_db) as database:
        log = sqlite_db.with_name(f"{sqlite_db.name}-wal")
        before = log.read_bytes()
        write_and_forget(database)
        assert log.read_bytes() != before


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_strangers_do_not_hear_which_database_it_is(sqlite_db, path):
    """Neither where it is nor what it said."""
    with running(sqlite_db) as url:
        with contextlib.closing(sqlite3.connect(sqlite_db)) as other:
            for table in ("tokens", "experiments"):
                other.execute(f"DROP TABLE rankone_{table}")
        answer = Api(url)("GET", path)
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "storage", "1")
    assert b"rankone" not in answer.body


def test_nobody_hears_where_the_database_is_and_the_log_says_it(sqlite_db, caplog):
    """Not even administrators: what stands in an answer may be shown on a page, or kept in somebody's log."""
    start(sqlite_db, policy="ucb1").close()
    with Database(sqlite_db) as database:
        asks, administers = (create_token(database, scopes) for scopes in (["ask"], ["ask", "admin"]))
    with running(sqlite_db) as url:
        assert Api(url, asks).on("homepage", "POST", "/ask").status == 200
        with contextlib.closing(sqlite3.connect(sqlite_db)) as other:
            other.execute("ALTER TABLE rankone_journal RENAME TO hidden")
        answers = [Api(url, token).on("homepage", "POST", "/ask") for token in (asks, administers)]
    for answer in answers:
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "storage", "1")
        assert b"rankone" not in answer.body
    assert f"ask: Expected the database {sqlite_db} to answer" in caplog.text


@pytest.mark.parametrize("how", ["moved", "replaced"])
def test_a_file_that_was_moved_is_told_by_health(sqlite_db, how):
    """What is open goes on being read; nothing that is written there would be found again."""
    start(sqlite_db, policy="ucb1").close()
    with running(sqlite_db) as url:
        assert Api(url)("GET", "/health").status == 200
        away = sqlite_db.with_name("away.db")
        sqlite_db.rename(away)
        if how == "replaced":
            shutil.copy(away, sqlite_db)
        answers = [Api(url)("GET", path) for path in ("/health", "/health/ready", "/v1/experiments")]
        assert [answer.code for answer in answers[:2]] == ["storage"] * 2
        assert not any(sqlite_db.name.encode() in answer.body for answer in answers)
        away.replace(sqlite_db)
        assert Api(url)("GET", "/health").status == 200
        assert Api(url)("GET", "/health/live").status == 200


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=me&password=secret",
        "host=127.0.0.1 port=1 dbname=db password=secret",
    ],
)
def test_the_first_line_shows_no_password(address):
    assert "secret" not in greeting(ServerOptions(address), 80)
    assert "Database postgresql://127.0.0.1/db: out of reach for now" in greeting(ServerOptions(address), 80)
