"""What the tests of the service share: a server in a thread, a server in a process, and plain requests."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from rankone.errors import sentence
from rankone.live.journal.events import COLUMNS
from rankone.web.server.app import create_app
from rankone.web.server.http.connection_limits import make_server
from rankone.web.server.limits import Limits

ROOT = Path(__file__).parents[2]
WAIT = 60  # seconds until something counts as stuck
HOMEPAGE = {"name": "homepage", "rows": ["A", "B", "C"], "cols": ["1", "2"], "policy": "ucb1", "seed": 7}


class Answer:
    """A response: status, headers and body."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code of a problem; asserts that the answer has the one shape of errors."""
        assert self.headers["Content-Type"] == "application/problem+json", self.body
        problem = self.json()
        assert set(problem) == {"type", "title", "status", "code", "detail", "expected", "got", "do"}
        assert problem["detail"] == sentence(problem["expected"], problem["got"], problem["do"])
        assert problem["status"] == self.status
        return problem["code"]


class Api:
    """Sends requests as they are."""

    def __init__(self, url, token=None):
        self.url, self.token = url, token

    def __call__(self, method, path, body=None, headers=None, raw=None):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=600)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if content is not None else {}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, content, sent | (headers or {}))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def on(self, name, method, path, body=None, **more):
        """Send a request about one experiment."""
        return self(method, f"/v1/experiments/{quote(name, safe='')}{path}", body, **more)


@contextlib.contextmanager
def running(db, durability="off", **options):
    """Run the service in a thread; yield its address."""
    app = create_app(db, durability=durability, **options)
    server = make_server(app, options.get("limits") or Limits(), port=0, log_config=None, access_log=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service does not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def connected(url, receive=None):
    """A connection; `receive` is the size of the client's buffer."""
    address = urlsplit(url)
    with socket.socket() as connection:
        connection.settimeout(WAIT)
        if receive is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.connect((address.hostname, address.port))
        yield connection


def until(true, seconds=60):
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class ServerProcess:
    """``rankone serve`` as a process, to be killed and started again at the same address."""

    def __init__(self, db, *options, log_folder=None, secure=False, listens=None, folder=None):
        self.port, self._place, self._folder = free_port(), listens, folder
        self.url = f"http{'s' * secure}://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-P",
            "-m",
            "rankone",
            "serve",
            str(db),
            "--port",
            str(self.port),
            *map(str, options),
        ]
        self._log = (log_folder or Path(db).parent) / f"server-{self.port}.log"
        self.start()

    def start(self):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(self._command, env=env, stderr=log, cwd=self._folder)
        while not self._listens():
            assert self.process.poll() is None, self._log.read_text()
            time.sleep(0.01)

    def _listens(self):
        if "startup complete" not in self._log.read_text():
            return False
        if self._place is not None:
            return Path(self._place).exists()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait()


def copy_experiment(database, count):
    """Enter the first experiment of a database, whose name is 0, again under other names: 1, 2, ..."""
    columns = ", ".join(COLUMNS)

    def copy(storage):
        for number in range(1, 1 + count):
            storage.query("INSERT INTO rankone_experiments (id, name) VALUES ({}, {})", (number + 1, str(number)))
            copied = f"SELECT {number + 1}, {columns} FROM rankone_journal WHERE experiment = 1"
            storage.query(f"INSERT INTO rankone_journal (experiment, {columns}) {copied}")

    database.use(copy)


def peak_mebibytes(server):
    """The most memory that the server has ever had, but for files that are mapped, such as libraries.

    How much of these is in memory depends on how the system reads ahead: 60 MiB more or less between two copies of one
    environment. The system takes it back when it needs it.
    """
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    peak, files = (int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) for name in ("VmHWM", "RssFile"))
    return (peak - files) / 1024
