"""Answers have the usual shape whatever is asked, say how they are to be taken, and leave nothing behind."""

import json
import signal
import socket
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rankone.web.server.app import OPERATIONS

from .helpers import HOMEPAGE, Api


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "//x",
        "///",
        "//v1/experiments",
        "/v1//experiments",
        "/v1/experiments/",
        "/v1/experiments//report",
        "/v1/experiments/{name}",
        "/v1/experiments/{name}/report",
        "/v1/experiments/{name}/decisions/{id}",
        "/v1/experiments/homepage/decisions/{id}",
        "/v1/experiments/homepage/report/",
        "/%2F",
        "/..",
        "/../etc/passwd",
        "/%2e%2e/",
        "/None",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_paths_that_are_none_are_not_found(api, method, path):
    answer = api(method, path)
    assert (answer.status, answer.code) in ((404, "unknown-path"), (404, "unknown-experiment"), (405, "wrong-method"))
    assert answer.status == 404 or path.startswith("/v1/experiments/{name}")


def test_braces_are_a_name_like_any_other(api):
    assert api("POST", "/v1/experiments", HOMEPAGE | {"name": "{name}"}).status == 201
    assert api("GET", "/v1/experiments/{name}").json()["name"] == "{name}"
    assert api.on("{name}", "POST", "/ask").status == 200


@pytest.mark.parametrize("target", ["*", "http://127.0.0.1/health", "x", "/\x80", "http://[/health", "//["])
def test_targets_that_are_no_paths(url, target):
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode("latin-1"))
        head, _, body = b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert status in (200, 400, 404)
    assert status == 200 or json.loads(body)["status"] == status


def test_answers_are_not_guessed_at_and_not_kept(api):
    for operation in OPERATIONS:
        path = operation.path.replace("{name}", "homepage").replace("{id}", "1-aa").replace("{flag}", "homepage")
        answer = api(operation.method, path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        assert answer.headers.get_all("Cache-Control") == (
            ["no-store"] if path.startswith(("/v1", "/ofrep")) else [_kept(path)]
        )
    assert api("GET", "/v1/nothing").headers["Cache-Control"] == "no-store"


def _kept(path):
    if path == "/snippet.js":  # pages of other sites load it at every view
        return "public, max-age=3600"
    return "no-store" if path.startswith(("/health", "/metrics", "/openapi")) else "no-cache"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where exports put what they have to keep for a while."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.parametrize(
    "headers", [{}, {"Range": "bytes=junk"}, {"Range": "bytes=9-1"}, {"Range": "lines=1-2"}, {"If-Range": "x"}]
)
def test_exports_leave_no_file_behind(api, temporary, headers):
    assert api.on("homepage", "POST", "/ask").status == 200
    answer = api.on("homepage", "GET", "/export", headers=headers)
    assert answer.status == 200
    assert answer.body.startswith(b'{"id":"0-')
    assert answer.headers["Content-Disposition"] == 'attachment; filename="decisions.jsonl"'
    assert list(temporary.iterdir()) == []


def test_exports_that_nobody_takes_leave_no_file_either(api, temporary):
    for _ in range(3):
        address = urlsplit(api.url)
        with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
            connection.sendall(b"GET /v1/experiments/homepage/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        deadline = time.monotonic() + 60
        while api.on("homepage", "GET", "/export").status != 200:
            assert time.monotonic() < deadline, "its place is not given back"
    assert list(temporary.iterdir()) == []


def test_a_server_killed_during_an_export_leaves_nothing(tmp_path, temporary, start_server):
    server = start_server(tmp_path / "rankone.db")
    assert Api(server.url)("POST", "/v1/experiments", HOMEPAGE).status == 201
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /v1/experiments/homepage/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        while not (children.read_text() if children.exists() else "no"):
            time.sleep(0.01)
        server.end(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)  # the other process ends by itself
    assert list(temporary.iterdir()) == []
