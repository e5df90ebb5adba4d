"""Connections over real sockets: headers without an end, half-sent requests, those who do not listen, and crowds."""

import contextlib
import dataclasses
import json
import socket
import sqlite3
import time

import pytest

from rankone.web.server.limits import Limits

from .helpers import HOMEPAGE, WAIT, Api, connected, running, until

SMALL = dataclasses.replace(
    Limits(), header_bytes=2_000, headers=10, header_seconds=0.3, idle_seconds=0.3, answer_seconds=2
)
HEAD = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A service whose connections have small limits."""
    with running(tmp_path_factory.mktemp("small") / "rankone.db", limits=SMALL) as url:
        assert first_answer(url, "POST", "/v1/experiments", HOMEPAGE) in (201, 409)
        yield url


def first_answer(url, *request):
    """The status of a request whose first answers may take longer than the limits: it is made meanwhile."""
    while (status := Api(url)(*request).status) == 503:
        pass
    return status


def rest(connection):
    """Everything the service sends until it hangs up."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def refusal(answer):
    """The status and the code of an answer in the one shape of errors."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    problem = json.loads(body)
    assert int(head.split()[1]) == problem["status"]
    return problem["status"], problem["code"]


def answered(connection, request):
    """The status of a request on a connection that stays open."""
    connection.sendall(request)
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < size:
        body += connection.recv(65536)
    return int(head.split()[1])


def padded(size):
    """A request whose head has so many bytes."""
    return HEAD + b"X: " + b"x" * (size - len(HEAD) - 7) + b"\r\n\r\n"


def test_header_bytes(small):
    with connected(small) as connection:
        assert answered(connection, padded(2_000)) == 200
        connection.sendall(padded(2_001))
        assert refusal(rest(connection)) == (431, "headers-too-large")


def test_a_large_body_in_one_piece_with_its_head_is_not_a_large_head(small):
    body = json.dumps({"source": "x"}).encode() + b" " * 10_000
    head = b"POST /v1/experiments/homepage/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with connected(small) as connection:
        assert answered(connection, head + b"Content-Length: %d\r\n\r\n" % len(body) + body) == 200


@pytest.mark.parametrize("part", [b"X: " + b"x" * 50 + b"\r\n", b"x" * 65536], ids=["headers", "one header"])
@pytest.mark.parametrize(
    "beginning",
    [
        HEAD,
        b"GET /",
        b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
    ],
    ids=["head", "path", "trailer", "trailer of a request that is answered"],
)
def test_heads_without_an_end_are_cut_off(small, beginning, part):
    sent = 0
    with connected(small) as connection, contextlib.suppress(OSError):
        connection.sendall(beginning)
        while sent < 2**27:
            connection.sendall(part)
            sent += len(part)
    assert sent < 2**25  # what the sockets' own buffers took


def test_headers(small):
    more = b"X: 1\r\n" * 9
    with connected(small) as connection:
        assert answered(connection, HEAD + more + b"\r\n") == 200
        connection.sendall(HEAD + more + b"X: 1\r\n\r\n")
        assert refusal(rest(connection)) == (431, "headers-too-large")


@pytest.mark.parametrize("sent", [b"G", HEAD, HEAD + b"X: 1"])
def test_header_seconds(small, sent):
    with connected(small) as connection:
        connection.sendall(sent)
        assert refusal(rest(connection)) == (408, "too-slow")


def test_a_head_that_trickles_is_cut_off_too(small):
    with connected(small) as connection:
        connection.settimeout(0.05)
        connection.sendall(HEAD)
        answer, deadline = b"", time.monotonic() + WAIT
        while not answer and time.monotonic() < deadline:
            connection.sendall(b"X")
            with contextlib.suppress(TimeoutError):
                answer = connection.recv(65536)
    assert refusal(answer) == (408, "too-slow")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        HEAD + b"\r\n",
        HEAD + b"\r\n\r\n",
        HEAD + b"Content-Length: 1000\r\n\r\nx",
        b"POST /health HTTP/1.1\r\nContent-Length: 1000\r\n\r\nx",
    ],
    ids=["nothing", "no request", "idle", "idle after an empty line", "half a body", "half a body nobody wants"],
)
def test_idle_seconds(small, sent):
    """Whatever state it is in, a connection that sends no more is closed."""
    with connected(small) as connection:
        connection.sendall(sent)
        answer = rest(connection)
    assert answer.count(b"HTTP/1.1") == (sent.count(b"HTTP/1.1"))


def test_connections(tmp_path):
    """Newcomers get in: connections without a request, and those with half of one, make room; the oldest first."""
    limits = dataclasses.replace(Limits(), connections=8)
    with running(tmp_path / "rankone.db", limits=limits) as url, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(connected(url)) for _ in range(8)]
        for connection in crowd[1:]:
            connection.sendall(HEAD)
        newcomer = stack.enter_context(connected(url))
        assert answered(newcomer, HEAD + b"\r\n") == 200
        assert rest(crowd[0]) == b""
        assert answered(crowd[7], b"\r\n") == 200


def test_connections_that_all_work_leave_no_room(tmp_path):
    """A body is awaited on each: the one that is too many hears so."""
    with running(tmp_path / "rankone.db", limits=dataclasses.replace(Limits(), connections=2)) as url:
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                busy = stack.enter_context(connected(url))
                head = b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
                busy.sendall(head + b"Content-Length: 5\r\n\r\n")
                assert busy.recv(65536).startswith(b"HTTP/1.1 100 ")
            assert refusal(rest(stack.enter_context(connected(url)))) == (503, "busy")
        assert Api(url)("GET", "/v1/experiments").status == 200


def keep_alive(connection):
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        time.sleep(0.05)
        connection.sendall(b"\r\n")


@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["in one piece", "one after the other"])
def test_answer_seconds(small, pause):
    """More answers than sockets hold, and nobody reads them: the service does not keep them for ever."""
    assert first_answer(small, "GET", "/vega.js") == 200
    with connected(small, receive=4096) as connection:
        for _ in range(8):
            connection.sendall(b"GET /vega.js HTTP/1.1\r\n\r\n")
            time.sleep(pause)
        with pytest.raises(ConnectionError):
            keep_alive(connection)


def test_unsent_bytes(tmp_path):
    """Of those who take no answers, the ones that have rested longest are closed when there are too many."""
    limits = dataclasses.replace(Limits(), unsent_bytes=2 * 2**20)
    with running(tmp_path / "rankone.db", limits=limits) as url, contextlib.ExitStack() as stack:
        size = len(Api(url)("GET", "/vega.js").body)
        resting = [stack.enter_context(connected(url, receive=4096)) for _ in range(2 + 2**23 // size)]
        for connection in resting:
            connection.sendall(b"GET /vega.js HTTP/1.1\r\n\r\n" * 8)
            connection.recv(1, socket.MSG_PEEK)
        with pytest.raises(ConnectionError):
            keep_alive(resting[0])
        resting[-1].sendall(b"\r\n")
        assert Api(url)("GET", "/health/live").status == 200


def test_requests_far_ahead_of_their_answers_are_cut_off(small):
    """A piece of 256 KiB holds ten thousand requests, and each takes kilobytes once it is parsed."""
    with connected(small) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n" * 10_000)
        assert rest(connection).count(b"HTTP/1.1 ") <= 10
    with connected(small) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n" * 5 + b"GET /health HTTP/1.0\r\n\r\n")
        assert rest(connection).count(b"HTTP/1.1 200") == 6


def test_what_is_not_http_gets_an_error_of_the_usual_shape(small):
    with connected(small) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert refusal(rest(connection)) == (400, "not-http")


@pytest.mark.parametrize("protocol", ["websocket", "h2c", "nonsense"])
def test_other_protocols_are_not_spoken(small, protocol):
    """A request to change the protocol is answered as if it had not asked for that."""
    key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with connected(small) as connection:
        connection.sendall(HEAD + b"Connection: Upgrade\r\nUpgrade: %s\r\n" % protocol.encode() + key + b"\r\n")
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer.partition(b"\r\n\r\n")[0]


def test_who_leaves_amid_several_requests_leaves_no_traceback(sqlite_db, caplog):
    """The answer to the first is made when nobody is there any more, while the second has come."""
    ask = b"POST /v1/experiments/homepage/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    with running(sqlite_db) as url, contextlib.closing(sqlite3.connect(sqlite_db, isolation_level=None)) as other:
        assert Api(url)("POST", "/v1/experiments", HOMEPAGE).status == 201
        assert Api(url).on("homepage", "POST", "/ask").status == 200
        other.execute("BEGIN IMMEDIATE")  # what was asked waits
        with connected(url) as connection:
            connection.sendall(ask + ask)
            time.sleep(0.2)
        time.sleep(0.2)
        other.execute("ROLLBACK")
        until(lambda: Api(url).on("homepage", "GET", "").json()["decisions"] >= 2)
        assert Api(url).on("homepage", "POST", "/ask").status == 200
    assert "Traceback" not in caplog.text
    assert "Exception" not in caplog.text
