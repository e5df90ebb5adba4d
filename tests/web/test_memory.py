"""Never out of memory: whatever is sent, the service stays below half a gigabyte and goes on answering."""

import re
import socket
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rankone.web.limits import Limits

from .helpers import HOMEPAGE, Api

CAP = 512  # MiB
CREATE = Limits().create_body_bytes
ASK = "/v1/experiments/homepage/ask"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak memory of a process")


@pytest.fixture(scope="module")
def server(tmp_path_factory, start_server):
    server = start_server(tmp_path_factory.mktemp("memory") / "rankone.db", "--durability", "off")
    assert Api(server.url)("POST", "/v1/experiments", HOMEPAGE | {"max_open": 30_000}).status == 201
    yield server
    assert server.end() == 0


def peak(server):
    """The most memory that the server has ever had, in MiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


@pytest.fixture(autouse=True)
def below_the_cap(server):
    yield
    assert Api(server.url).on("homepage", "GET", "").status == 200
    assert peak(server) < CAP


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
    statuses = []

    def client():
        statuses.append(Api(server.url)("POST", ASK, {"count": 1000}).status)

    threads = [threading.Thread(target=client) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 429, 503}
    opened = Api(server.url).on("homepage", "GET", "").json()["open"]
    assert 0 < opened == 1000 * statuses.count(200) <= 30_000


def test_the_largest_experiment(server):
    """As many lines as one may have, and as many pairs as all may have together: asked, looked at, and no more."""
    api, rows, cols = Api(server.url), Limits().lines, Limits().all_pairs // Limits().lines - 1
    body = {"name": "largest", "rows": rows, "cols": cols, "policy": "ucb1"}
    assert api("POST", "/v1/experiments", body).status == 201
    assert api.on("largest", "POST", "/ask", {"count": 1000}).status == 200
    assert api.on("largest", "GET", "/view").status == 200
    assert api("POST", "/v1/experiments", body | {"name": "one more", "cols": 1}).code == "invalid"
