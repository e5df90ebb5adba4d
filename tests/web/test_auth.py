"""Closed by default: what is not from this machine stays outside until there are tokens."""

import asyncio
import dataclasses
import time

import pytest

from rankone.client.client import Client
from rankone.errors import InputError, StorageError
from rankone.live import Database, Experiment
from rankone.live.operate.export import decisions_table
from rankone.web.server import service
from rankone.web.server.access.auth import Authenticator, RateLimiter, is_loopback
from rankone.web.server.access.origins import checked_origin
from rankone.web.server.access.tokens import create_token, list_tokens
from rankone.web.server.app import create_app
from rankone.web.server.http.problem_json import Problem
from rankone.web.server.limits import Limits
from rankone.web.server.serve import check_public

from .helpers import HOMEPAGE, Api, connected, running


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rankone.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"X-Real-IP": "203.0.113.7"},
        {"Via": "1.1 proxy"},
        {"Forwarded": "for=203.0.113.7"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Host": "["},
        {"Host": "evil@127.0.0.1"},
        {"Host": "127.0.0.1/evil"},
        {"Host": "127.0.0.1?evil"},
        {"Host": "127.0.0.1 evil"},
        {"Host": "127.0.0.1:evil"},
        {"Host": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_without_tokens_only_this_machine_is_served(api, headers):
    answer = api("GET", "/v1/experiments", headers=headers)
    assert (answer.status, answer.code) == (403, "local-only")
    assert api.on("homepage", "POST", "/ask", headers=headers).status == 403


def test_pages_of_this_machine_are_served(api):
    host = api.url.removeprefix("http://")
    for own in ({"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert api("GET", "/v1/experiments", headers=own).status == 200
    for name in ("127.0.0.1", "LOCALHOST:80", "[::1]", "[::1]:8000"):
        assert api("GET", "/v1/experiments", headers={"Host": name}).status == 200


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("Host", ("rankone.example", "127.0.0.1")),
        ("Host", ("127.0.0.1", "127.0.0.1")),
        ("Authorization", ("Bearer rk_a_b", "Bearer rk_c_d")),
        ("Origin", ("https://evil.example", "http://127.0.0.1")),
        ("Idempotency-Key", ("one", "two")),
    ],
)
def test_a_header_that_comes_twice_is_refused(url, header, values):
    """A proxy, or a log, may go by the first while we go by the last."""
    lines = [("Connection", "close"), ("Content-Length", "0"), *((header, value) for value in values)]
    lines += [] if header == "Host" else [("Host", "127.0.0.1")]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    with connected(url) as connection:
        connection.sendall(f"POST /v1/experiments/homepage/ask HTTP/1.1\r\n{head}\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"header-twice"' in answer


@pytest.mark.parametrize("peer", [("203.0.113.7", 5), ("::ffff:203.0.113.7", 5), ("192.168.1.4", 5), None])
def test_who_says_to_be_this_machine_from_elsewhere_is_not_believed(peer):
    """A Host is only a word. Where a socket comes from is not."""

    async def nobody():
        return []

    auth = Authenticator(nobody, Limits())
    with pytest.raises(Problem) as refused:
        asyncio.run(auth.admit({"host": "127.0.0.1"}, peer))
    assert refused.value.code == "local-only"
    assert asyncio.run(auth.admit({"host": "127.0.0.1:8000"}, ("127.0.0.1", 5))).may("ask", None)


def test_without_tokens_the_log_warns(tmp_path, caplog):
    """A proxy on this machine that adds no header looks like a user on it: only a token tells them apart."""
    with running(tmp_path / "rankone.db") as url:
        while "--require-token" not in caplog.text:
            assert Api(url)("GET", "/health").status == 200
    caplog.clear()
    with running(tmp_path / "rankone.db", require_token=True) as url:
        assert Api(url)("GET", "/v1/experiments").status == 401
    with Database(tmp_path / "rankone.db") as database:
        create_token(database, ["read"])
    with running(tmp_path / "rankone.db") as url:
        assert Api(url)("GET", "/v1/experiments").status == 401
    assert "token" not in caplog.text


def test_the_log_warns_too_where_the_database_was_away_at_the_start(tmp_path, caplog, monkeypatch):
    answers = iter([StorageError("the database", "silence", "wait")])

    def read(database):
        for error in answers:
            raise error
        return []

    monkeypatch.setattr(service, "list_tokens", read)
    deadline = time.monotonic() + 60
    with running(tmp_path / "rankone.db"):
        while "--require-token" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "--require-token" in caplog.text


def test_the_command_can_require_tokens(tmp_path, start_server):
    server = start_server(tmp_path / "rankone.db", "--require-token")
    assert Api(server.url)("GET", "/v1/experiments").status == 401
    assert server.end() == 0


@pytest.mark.parametrize(
    ("given", "do"),
    [
        ("*", "there is no sign for all"),
        ("null", "there is no sign for all"),
        ("shop.example", "name each site"),
        ("https://shop.example/page", "pass https://shop.example"),
        ("https://shop.example/page/", "pass https://shop.example"),
        ("https://shop.example?x=1", "pass https://shop.example"),
        ("https://shop.example:443", "pass https://shop.example"),
        ("https://Shop.example", "pass https://shop.example"),
        ("HTTPS://shop.example", "pass https://shop.example"),
        ("https://me@shop.example", "pass https://shop.example"),
        ("https://bücher.example", "pass https://xn--bcher-kva.example"),
        ("https://*.shop.example:99999", "name each site"),
        ("ftp://shop.example", "name each site"),
        ("https://", "name each site"),
        ("", "name each site"),
    ],
)
def test_sites_that_no_browser_would_name_are_refused(tmp_path, given, do):
    with pytest.raises(InputError, match="a web site as browsers name it") as refused:
        create_app(tmp_path / "rankone.db", allowed_origins=[given])
    assert do in refused.value.do


def test_sites_as_browsers_name_them_are_taken():
    for site in ("https://shop.example", "http://localhost:8080", "http://[::1]:8080", "https://xn--bcher-kva.example"):
        assert checked_origin(site) == site


def test_a_public_address_needs_a_token_first(tmp_path):
    db = tmp_path / "rankone.db"
    with pytest.raises(InputError, match=r"a token before the service listens on 0\.0\.0\.0"):
        check_public(db, "0.0.0.0")
    database = Database(db)
    create_token(database, ["read"])
    database.close()
    check_public(db, "0.0.0.0")
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "rankone.example")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_the_command_refuses_a_public_address(tmp_path):
    from typer.testing import CliRunner

    from rankone.cli import build_app

    found = CliRunner().invoke(build_app(), ["serve", str(tmp_path / "x.db"), "--host", "0.0.0.0"])
    assert isinstance(found.exception, InputError)
    assert "rankone token create" in str(found.exception)


def test_a_public_service_without_tokens_serves_nobody(tmp_path):
    with running(tmp_path / "rankone.db", require_token=True) as url:
        assert Api(url)("GET", "/v1/experiments").status == 401
        assert Api(url)("GET", "/health").status == 200


def test_allowed_sites_may_call_and_others_may_not(tmp_path):
    with running(tmp_path / "rankone.db", allowed_origins=["https://shop.example/"]) as url:
        api = Api(url)
        api("POST", "/v1/experiments", HOMEPAGE)
        ours, theirs = {"Origin": "https://shop.example"}, {"Origin": "https://evil.example"}
        asked = {"Access-Control-Request-Method": "POST"}
        before = api.on("homepage", "OPTIONS", "/ask", headers=ours | asked)
        assert (before.status, before.headers["Access-Control-Allow-Origin"]) == (200, "https://shop.example")
        assert before.headers["Access-Control-Max-Age"] == "86400"
        sent = {"Access-Control-Request-Headers": "authorization, content-type, idempotency-key"}
        nearby = {"Access-Control-Request-Private-Network": "true"}  # the page came from the internet
        assert api.on("homepage", "OPTIONS", "/ask", headers=ours | asked | sent | nearby).status == 200
        stranger = api.on("homepage", "OPTIONS", "/ask", headers=theirs | asked)
        assert (stranger.status, stranger.headers["Access-Control-Allow-Origin"]) == (400, None)
        answer = api.on("homepage", "POST", "/ask", headers=ours | {"Sec-Fetch-Site": "cross-site"})
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "https://shop.example")
        assert (answer.headers["Access-Control-Expose-Headers"], answer.headers["Vary"]) == ("Retry-After", "Origin")
        refused = api.on("homepage", "POST", "/ask", headers=theirs)
        assert (refused.status, refused.headers["Access-Control-Allow-Origin"]) == (403, None)
        for passed_on in (
            {"X-Forwarded-For": "203.0.113.7"},
            {"Host": "rankone.example"},
        ):  # anybody can write an Origin
            assert api.on("homepage", "POST", "/ask", headers=ours | passed_on).code == "local-only"


def test_tokens_expire_to_the_second(tmp_path):
    database = Database(tmp_path / "rankone.db")
    token = create_token(database, ["read"], days=1, now=1000)
    tokens, now = list_tokens(database), [0.0]
    database.close()

    async def load():
        return tokens

    auth = Authenticator(load, Limits(), clock=lambda: now[0])
    headers = {"authorization": f"Bearer {token}"}
    now[0] = 1000 + 86_399.9
    assert asyncio.run(auth.admit(headers, None)).may("read", "anything")
    now[0] = 1000 + 86_400.0
    with pytest.raises(Problem) as refused:
        asyncio.run(auth.admit(headers, None))
    assert refused.value.status == 401
    assert "The token is unknown, expired or revoked." in refused.value.detail
    with pytest.raises(Problem) as refused:
        asyncio.run(auth.admit({}, None))
    assert "The request has no token." in refused.value.detail


def test_who_comes_during_the_first_look_at_the_tokens_waits_for_it(tmp_path):
    """A service that does not know yet whether there are tokens lets nobody in without one."""
    with Database(tmp_path / "rankone.db") as database:
        create_token(database, ["read"])
        tokens = list_tokens(database)
    failures = iter([StorageError("the database", "silence", "wait")])

    async def load():
        await asyncio.sleep(0)
        for failure in failures:
            raise failure
        return tokens

    async def crowd():
        auth = Authenticator(load, Limits(), clock=lambda: 100.0)
        knocks = [[auth.admit({"host": "127.0.0.1"}, ("127.0.0.1", 1)) for _ in range(3)] for _ in range(2)]
        return [await asyncio.gather(*knock, return_exceptions=True) for knock in knocks]

    first, second = asyncio.run(crowd())
    assert [(error.status, error.code) for error in first] == [(503, "storage")] * 3
    assert "silence" not in first[0].detail.replace("or silence", "")  # what the database said is not for strangers
    assert [error.code for error in second] == ["no-valid-token"] * 3


def test_who_waits_for_the_first_look_at_the_tokens_waits_for_nobody_else():
    """A look that never ends: all give up after the same time, not one after the other."""

    async def load():
        await asyncio.Event().wait()

    async def crowd():
        auth = Authenticator(load, dataclasses.replace(Limits(), answer_seconds=0.5))
        knocks = [asyncio.create_task(auth.admit({}, None)) for _ in range(60)]
        answered, _ = await asyncio.wait(knocks, timeout=15)
        return [knock.exception().code for knock in answered]

    assert asyncio.run(crowd()) == ["storage"] * 60


@pytest.mark.parametrize(
    "hide", ["REVOKE ALL ON rankone_tokens FROM clerk", "ALTER TABLE rankone_tokens RENAME TO hidden"]
)
def test_tokens_that_cannot_be_read_do_not_open_the_gate(postgres_db, hide):
    import psycopg

    with Database(postgres_db) as database:
        create_token(database, ["read"])
    schema = postgres_db.rpartition("%3D")[2]
    with psycopg.connect(postgres_db, autocommit=True) as owner:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'clerk'").fetchone():
            owner.execute("CREATE ROLE clerk LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO clerk")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO clerk")
        with running(postgres_db.replace("rankone@", "clerk@")) as url:
            owner.execute(hide)
            assert Api(url)("POST", "/v1/experiments", HOMEPAGE).code == "storage"
        with Database(postgres_db) as database:
            assert database.names() == []


def test_a_clock_set_back_locks_nobody_out():
    limiter = RateLimiter(2, now=10_000.0)
    assert limiter.take(10_000.0)
    assert limiter.take(6_400.0)
    assert not limiter.take(6_400.0)
    assert limiter.take(6_400.5)


def test_one_tokens_traffic_is_undone_whatever_source_it_names(db):
    """By REST and by the client: what it asked, and what it told."""
    with Database(db) as database:
        good, bad, admin = (create_token(database, scopes) for scopes in (["ask", "tell"], ["ask", "tell"], ["admin"]))
    ids = [token.split("_")[1] for token in (good, bad)]
    with running(db) as url, Client(url, token=admin) as client:
        assert Api(url, admin)("POST", "/v1/experiments", HOMEPAGE).status == 201
        for token, sources in ((good, ("page",)), (bad, ("page", "mail", None))):
            api = Api(url, token)
            for source in sources:
                asked = api.on("homepage", "POST", "/ask", {"count": 3, "source": source}).json()["decisions"]
                one, many = asked[0]["id"], [{"id": asked[1]["id"], "clicked": True}]
                told = {"clicked": True, "source": source}
                assert api.on("homepage", "PUT", f"/decisions/{one}/outcome", told).status == 200
                assert api.on("homepage", "POST", "/tell", {"outcomes": many, "source": source}).status == 200
        operator = client.experiment("homepage")
        assert Api(url, admin).on("homepage", "POST", "/exclude", {"token": ids[1], "source": "mail"}).json() == {
            "excluded": 2
        }
        assert operator.exclude(token=ids[1]) == 4
        voided = Api(url, admin).on(
            "homepage", "POST", "/void-open", {"older_than": 1e-6, "token": ids[1], "source": "mail"}
        )
        assert voided.json() == {"voided": 1}
        assert operator.void_open(1e-6, token=ids[1]) == 2
    with Experiment("homepage", db=db) as experiment:
        outcomes = experiment.report().outcomes
        assert (outcomes["clicked"], outcomes["open"], outcomes["void"]) == (2, 1, 3)
        assert set(decisions_table(experiment.database, "homepage")["token"]) == set(ids)


def test_a_token_for_an_experiment_that_is_not_there_is_not_made_without_a_word(tmp_path):
    from typer.testing import CliRunner

    from rankone.cli import build_app

    db = str(tmp_path / "rankone.db")
    with Database(db) as database:
        Experiment("homepage", ["A"], ["x"], "uniform", database)
    words = ["token", "create", db, "--scope", "ask", "--experiment"]
    said = CliRunner().invoke(build_app(), [*words, "home"]).stderr
    assert "No experiment is called 'home' yet. There are: homepage." in said
    two = CliRunner().invoke(build_app(), [*words, "homepage", "--experiment", "home"]).exception
    assert str(two) == (
        "Expected one experiment, but got 'homepage' and 'home'. Make a token for each, or one for all."
    )
    for known in ("homepage", "*"):
        assert "No experiment" not in CliRunner().invoke(build_app(), [*words, known]).stderr
