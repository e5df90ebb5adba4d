"""Never out of memory: whatever is sent, the service stays below 400 MiB beside its libraries, and goes on answering."""

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import pytest

from rankone.live import Ask, Database, Experiment
from rankone.web.server.limits import Limits
from rankone.web.server.serve import allow_files

from .helpers import HOMEPAGE, Api, connected, copy_experiment, peak_mebibytes

CAP = 400  # MiB, beside the files of libraries, of which 100 to 180 MiB are mapped
CREATE = Limits().create_body_bytes
ASK = "/v1/experiments/homepage/ask"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak memory of a process")


@pytest.fixture(scope="module")
def server(tmp_path_factory, start_server):
    server = start_server(tmp_path_factory.mktemp("memory") / "rankone.db", "--durability", "off")
    assert Api(server.url)("POST", "/v1/experiments", HOMEPAGE | {"outcomes": {"max_open": 30_000}}).status == 201
    yield server
    assert server.end() == 0


@pytest.fixture(autouse=True)
def below_the_cap(server):
    yield
    assert Api(server.url).on("homepage", "GET", "").status == 200
    assert peak_mebibytes(server) < CAP


def at_once(times, do):
    with ThreadPoolExecutor(times) as pool:
        return [asked.result() for asked in [pool.submit(do) for _ in range(times)]]


def begin(server, path, how):
    """Begin a request whose body is still to come."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=600)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{how}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


@pytest.mark.parametrize("path", [ASK, "/v1/experiments"])
@pytest.mark.parametrize("how", ["Transfer-Encoding: chunked", "Content-Length: 1000000000000"])
def test_bodies_without_an_end(server, path, how):
    part = b" " * 65536
    part = b"10000\r\n" + part + b"\r\n" if "chunked" in how else part
    answer, sent = b"", 0
    with closing(begin(server, path, how)) as connection:
        try:
            while sent < 2**30:
                connection.sendall(part)
                sent += len(part)
        except OSError:  # the service has heard enough
            answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert sent < 10 * CREATE


@pytest.mark.parametrize(
    "unit",
    [b"1,", b'"",', b"[],", b'{"":0},', b'"\\u00ff",', b"1e400,"],
    ids=["numbers", "strings", "lists", "objects", "escapes", "infinities"],
)
def test_bodies_that_grow_when_they_are_read(server, unit):
    """A byte of JSON may become a hundred bytes of memory."""
    raw = b'{"name":"x","cols":1,"rows":[' + unit * ((CREATE - 40) // len(unit)) + b"0]}"
    assert Api(server.url)("POST", "/v1/experiments", raw=raw).code == "invalid"


def test_bodies_with_too_many_fields(server):
    fields = b",".join(b'"%x":0' % number for number in range(100_000))
    assert Api(server.url)("POST", "/v1/experiments", raw=b'{"name":"x",' + fields + b"}").code == "invalid"


@pytest.mark.parametrize("part", [b"X: 1\r\n" * 9_000, b"x" * 65536], ids=["headers", "one header"])
def test_headers_without_an_end(server, part):
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=600) as connection, suppress(OSError):
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        while sent < 2**30:
            connection.sendall(part)
            sent += len(part)
    assert sent < 2**26


def test_many_slow_sockets(server):
    """As many connections as there may be and more, each with nearly as much of a request as there may be."""
    limits = Limits()
    allow_files(limits.connections + 500)
    head = b"GET /openapi.json HTTP/1.1\r\n" + b"X: 1\r\n" * (limits.headers - 1)
    head += b"X: " + b"x" * (limits.header_bytes - len(head) - 10)
    with ExitStack() as stack:
        for _ in range(limits.connections + 200):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=600))
            connection.sendall(head)
        assert Api(server.url)("GET", "/v1/experiments").status == 200


def test_many_bodies_that_nobody_wants(server):
    with ExitStack() as stack:
        for _ in range(500):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=600))
            with suppress(OSError):
                connection.sendall(b"GET /v1/experiments/homepage/view HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n")
                connection.sendall(b" " * 2_000_000)


def test_large_answers_that_nobody_takes(tmp_path, start_server):
    """Half a gigabyte of lists and more, asked for over and over by clients that read none of them."""
    server = start_server(tmp_path / "rankone.db", "--durability", "off")
    body = {"rows": [f"{row}".ljust(200, "x") for row in range(4_000)], "cols": 2, "policy": "ucb1"}
    for number in range(8):
        assert Api(server.url)("POST", "/v1/experiments", body | {"name": f"{number}"}).status == 201
    with ExitStack() as stack:
        for _ in range(80):
            connection = stack.enter_context(connected(server.url, receive=4096))
            connection.sendall(b"GET /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2)
            with suppress(OSError):  # closed already
                connection.recv(1, socket.MSG_PEEK)  # its answer begins
        assert Api(server.url)("GET", "/v1/experiments/0").status == 200
    assert peak_mebibytes(server) < CAP


def test_many_requests_in_one_piece(server):
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=600))
            with suppress(OSError):
                connection.sendall(b"GET /v1/experiments HTTP/1.1\r\n\r\n" * 7_000)


def test_many_bodies_at_once(server):
    """Half a gigabyte of bodies that all lack their last byte: most are refused, the others may go on waiting."""
    connections = [begin(server, "/v1/experiments", f"Content-Length: {CREATE}") for _ in range(512)]
    try:
        for connection in connections:
            with suppress(OSError):  # refused before it had sent everything
                connection.sendall(b" " * (CREATE - 1))
    finally:
        for connection in connections:
            connection.close()


def test_huge_batches_at_once(server):
    """Far more decisions than may be open, asked for at once: each answer is whole or says that there are too many."""
    statuses = at_once(40, lambda: Api(server.url)("POST", ASK, {"count": 1000}).status)
    assert set(statuses) <= {200, 429, 503}
    opened = Api(server.url).on("homepage", "GET", "").json()["open"]
    assert 0 < opened == 1000 * statuses.count(200) <= 30_000


def test_the_largest_experiments(server):
    """As many lines as one may have, and as many pairs, more than once: asked and looked at."""
    api, rows, cols = Api(server.url), Limits().levels, Limits().combinations // Limits().levels
    body = {"rows": rows, "cols": cols, "policy": "ucb1"}
    for name in ("largest", "as large"):
        assert api("POST", "/v1/experiments", body | {"name": name}).status == 201
        assert api.on(name, "POST", "/ask", {"count": 1000}).status == 200
    statuses = at_once(40, lambda: api.on("largest", "GET", "/report").status)
    statuses += at_once(40, lambda: api.on("largest", "GET", "/view").status)
    assert set(statuses) == {200}


def test_many_experiments_with_many_segments(tmp_path, start_server):
    """Each takes 12 MiB of memory while it is used; not so the ones that nobody uses."""
    db = tmp_path / "rankone.db"
    with Database(db, durability="off") as database:
        experiment = Experiment("0", 16, 16, "uts", db=database, seed=1)
        asks = [Ask(1, context={"visitor": f"kind {number}"}) for number in range(64)]
        decisions = [decision for made in experiment.do(asks) for decision in made]
        experiment.tell_many([(decision, True) for decision in decisions])
        assert experiment.look(lambda fold: fold.nbytes) > 12 * 2**20
        copy_experiment(database, 40)
    server = start_server(db, "--durability", "off")
    api = Api(server.url)
    for _ in range(2):
        assert api("GET", "/metrics").body.decode().count("rankone_decisions_total{") == 41
        assert len(api("GET", "/v1/experiments").json()["experiments"]) == 41
    for number in range(41):
        assert api.on(str(number), "POST", "/ask", {"context": {"visitor": "kind 3"}}).status == 200
    assert api.on("7", "GET", "/report").json()["decisions"] == 65
    assert peak_mebibytes(server) < CAP
