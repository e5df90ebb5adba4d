"""How an operator runs the service: sockets, paths, proxies, TLS, configuration, logs, workers, waiting."""

import contextlib
import http.client
import io
import json
import logging
import os
import re
import signal
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.cli.service.serve import _PREFIX
from rankone.errors import InputError
from rankone.live import Database
from rankone.web.server.access.tokens import create_token
from rankone.web.server.logs import JsonFormatter, log_request
from rankone.web.server.options import ServerOptions
from rankone.web.server.serve import check_certificate, listen_at, wait_for

from .helpers import HOMEPAGE, WAIT, Api, running

CERTIFICATE, EXPIRED = (Path(__file__).parent / name for name in ("loopback.pem", "expired.pem"))


def serve(monkeypatch, *words, **environment):
    """Return the options with which ``rankone serve`` would run."""
    found = []
    monkeypatch.setattr("rankone.web.server.serve.serve", lambda options, say: found.append(options.checked()))
    result = CliRunner().invoke(
        build_app(), ["serve", *map(str, words)], env={f"{_PREFIX}{name}": value for name, value in environment.items()}
    )
    if result.exception is not None:
        raise result.exception
    return found[0]


def test_configuration_by_file_environment_and_command_line(monkeypatch, tmp_path):
    file = tmp_path / "rankone.toml"
    file.write_text(
        'db = "site.db"\nport = 9000\nworkers = 2\nallow-origin = ["https://a.example"]\nlog-format = "json"'
    )
    found = serve(monkeypatch, "--config", file, "--port", 9002, WORKERS="3", PORT="9001")
    assert (found.db, found.port, found.workers, found.log_format) == ("site.db", 9002, 3, "json")
    assert found.allow_origin == ["https://a.example"]
    found = serve(monkeypatch, CONFIG=str(file), ALLOW_ORIGIN="https://b.example https://c.example")
    assert (found.port, found.allow_origin) == (9000, ["https://b.example", "https://c.example"])
    usual = ServerOptions(allow_origin=[], trusted_proxy=["127.0.0.1", "::1"])
    assert serve(monkeypatch) == usual


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 8000", "Did you mean port"),
        ("port 8000", "a configuration in TOML"),
        ("port = [1]", "port in"),
        ('allow-origin = "https://a.example"', "allow-origin in"),
        ("[serve]\nport = 1", "No such option in"),
    ],
)
def test_a_configuration_with_a_typo_is_refused_in_words(monkeypatch, tmp_path, text, message):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        serve(monkeypatch, "--config", tmp_path / "x.toml")
    with pytest.raises(InputError, match="No such file"):
        serve(monkeypatch, "--config", tmp_path / "none.toml")


def test_a_variable_with_a_typo_is_refused_in_words(monkeypatch):
    ours = "RANKONE_SERVE"  # of variables with such a name the reference has a row each
    with pytest.raises(InputError, match=f"in the environment: {ours}_PROT. Did you mean {ours}_PORT"):
        serve(monkeypatch, PROT="8001")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--log-format", "xml"], "text or json"),
        (["--tls-key", "x.pem"], "Name the certificate too"),
        (["--workers", "0"], "1 to 64 workers"),
        (["--trusted-proxy", "*"], "Name each"),
        (["--root-path", "rankone"], "Try --root-path /rankone"),
        (["--root-path", "/a%20b"], "a path for"),
    ],
)
def test_options_that_make_no_sense_are_refused(monkeypatch, words, message):
    with pytest.raises(InputError, match=re.escape(message)):
        serve(monkeypatch, *words)


def test_a_certificate_must_fit_its_key(tmp_path):
    check_certificate(str(CERTIFICATE), None)
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    key.write_text(re.search(r"-----BEGIN PRIVATE.*?-----END PRIVATE KEY-----\n", EXPIRED.read_text(), re.DOTALL)[0])
    certificate.write_text(re.search(r"-----BEGIN CERT.*", CERTIFICATE.read_text(), re.DOTALL)[0])
    with pytest.raises(InputError, match="KEY_VALUES_MISMATCH"):
        check_certificate(str(certificate), str(key))
    with pytest.raises(InputError, match=r"no file .*none\.pem"):
        check_certificate(str(certificate), str(tmp_path / "none.pem"))
    key.write_text("no key")
    with pytest.raises(InputError, match="a certificate in PEM and its key"):
        check_certificate(str(certificate), str(key))


def test_a_root_path_is_taken_off_where_it_is_left_on(tmp_path):
    with running(tmp_path / "rankone.db", root_path="/tools/rankone") as url:
        api = Api(url)
        for prefix in ("", "/tools/rankone"):
            assert api("GET", f"{prefix}/health").status == 200
            assert b"<title>" in api("GET", f"{prefix}/").body
        assert api("GET", "/tools/rankone").status == 200
        assert api("GET", "/tools/rankoneX/health").code == "unknown-path"
        assert api("GET", "/openapi.json").json()["servers"] == [{"url": "/tools/rankone"}]


@pytest.fixture
def lines(monkeypatch):
    """What is logged of requests."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    log = logging.getLogger("rankone.web")
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "level", logging.INFO)
    log.manager._clear_cache()
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    log.manager._clear_cache()


def test_each_request_is_a_line_of_json_without_any_token(tmp_path, lines):
    with running(tmp_path / "rankone.db", request_log=True) as url:
        api = Api(url, token="rk_0123456789ab_secret")
        api("POST", "/v1/experiments", HOMEPAGE)
        given = api.on("homepage", "POST", "/ask", {}, headers={"X-Request-ID": "from-the-proxy-7"})
        assert given.headers["X-Request-ID"] == "from-the-proxy-7"
        made = api.on("homepage", "POST", "/ask", {}, headers={"X-Request-ID": "bad id"})
        api("GET", "/rk_0123456789ab_secret")
        api.on("homepage", "POST", "/visit", {"token": "rk_0123456789ab_secret"})
    found = [line for line in lines() if "operation" in line]
    assert [(line["operation"], line["status"]) for line in found] == [
        ("create_experiment", 201), ("ask", 200), ("ask", 200), ("none", 404), ("visit", 200)
    ]  # fmt: skip
    assert found[1]["id"] == "from-the-proxy-7"
    assert found[2]["id"] == made.headers["X-Request-ID"] != "bad id"
    assert set(found[0]) == {"time", "level", "id", "operation", "status", "ms", "client"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", found[0]["time"])
    assert "secret" not in json.dumps(found)
    assert found[0]["client"] == "127.0.0.1"


@pytest.mark.parametrize("client", ['x", "status": 500, "y": "', 'x"}\n{"id": "2', "x\\", ""])
def test_an_address_that_a_proxy_passes_on_cannot_forge_a_line(lines, client):
    log_request("1", "ask", 200, 0.001, client)
    (line,) = lines()
    assert (line["client"], line["status"]) == (client, 200)


def test_a_trusted_proxy_says_whose_request_it_is(tmp_path, start_server):
    server = start_server(tmp_path / "rankone.db", "--proxy-headers", "--log-format", "json", "--access-log")
    api = Api(server.url)
    headers = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    assert api("GET", "/health/live", headers=headers).status == 200
    assert api("GET", "/v1/experiments", headers=headers).code == "local-only"
    assert api("GET", "/v1/experiments").status == 200
    assert server.end() == 0
    lines = [json.loads(line) for line in server._log.read_text().splitlines() if line.startswith("{")]
    requests = [line for line in lines if "operation" in line]
    assert [line["client"] for line in requests] == ["203.0.113.9", "203.0.113.9", "127.0.0.1"]
    assert any("startup complete" in line.get("message", "") for line in lines)


class UnixApi(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(self.path)


def test_a_socket_in_the_file_system_needs_a_token_first(tmp_path, start_server):
    db, place = tmp_path / "rankone.db", tmp_path / "s"
    found = CliRunner().invoke(build_app(), ["serve", str(db), "--uds", str(place)])
    assert "a token before the service listens" in str(found.exception)
    with Database(db) as database:
        token = create_token(database, ["read"])
    server = start_server(db, "--uds", str(place), listens=str(place))
    assert place.stat().st_mode & 0o777 == 0o660
    with pytest.raises(InputError, match="a service that listens there"):
        listen_at(place)
    for headers, status in (({}, 401), ({"Authorization": f"Bearer {token}"}, 200)):
        with contextlib.closing(UnixApi(str(place))) as connection:
            connection.request("GET", "/v1/experiments", headers=headers)
            assert connection.getresponse().status == status
    assert server.end() == 0
    assert not place.exists()


def test_a_socket_left_behind_is_replaced_and_other_files_are_not(tmp_path):
    for _ in range(2):
        listen_at(tmp_path / "s").close()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="another file there"):
        listen_at(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="in a folder that there is"):
        listen_at(tmp_path / "no" / "s")


def test_it_waits_for_a_database_server_that_is_not_there_yet(tmp_path, postgres, postgres_db):
    (schema,) = re.findall(r"search_path%3D(\w+)", postgres_db)
    later = tmp_path / "later"
    address = f"host={later} dbname=postgres user=rankone password=secret options=-csearch_path={schema}"
    said, pauses = [], []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            later.symlink_to(postgres.folder)

    wait_for(address, said.append, pause)
    assert len(pauses) == 3
    assert said[0].startswith(
        "Waiting for the database: Expected the database postgresql://localhost/postgres to answer"
    )
    assert said[1:] == ["The database postgresql://localhost/postgres answers."]
    assert "secret" not in " ".join(said)
    wait_for(tmp_path / "new.db", said.append, pause)
    assert len(pauses) == 3


def pid_of(api):
    return re.search(rb'rankone_build_info{pid="(\d+)"', api("GET", "/metrics").body)[1]


CUT = -1


def test_workers_share_a_database_and_are_replaced_one_by_one(tmp_path, start_server):
    server = start_server(tmp_path / "rankone.db", "--workers", "2", "--tls-cert", CERTIFICATE, secure=True)
    api, asked = SecureApi(server.port), []
    assert api("POST", "/v1/experiments", HOMEPAGE) == 201
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            asked.append(api("POST", "/v1/experiments/homepage/ask", {}))

    thread = threading.Thread(target=ask)
    thread.start()
    before = workers_of(server)
    assert len(before) == 2
    server.process.send_signal(signal.SIGHUP)
    started = time.monotonic()
    while len(workers_of(server)) != 2 or workers_of(server) & before:
        assert time.monotonic() < started + 5 * WAIT
        time.sleep(0.05)
    stop.set()
    thread.join()
    cut = asked.count(CUT)  # by a process that went just as the connection came
    assert set(asked) <= {200, CUT}  # nobody was refused meanwhile
    assert cut <= 2
    with Database(tmp_path / "rankone.db", read_only=True) as database:
        number = database.number("homepage")
        assert database.use(lambda storage: storage.last_decision(number)) in range(len(asked) - cut - 1, len(asked))
    left = workers_of(server)
    server.process.kill()  # and the workers end too
    server.process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in left):
        assert time.monotonic() < started + 10 * WAIT
        time.sleep(0.05)


def workers_of(server):
    """The processes that serve; Python's own helper of processes is not one of them."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children if Path(f"/proc/{pid}").exists()}
    return {pid for pid, line in words.items() if b"spawn_main" in line}


class SecureApi:
    """Sends requests by TLS, each on a connection of its own; returns the status, or that the connection was cut."""

    def __init__(self, port):
        self._port, self._context = port, ssl.create_default_context(cafile=CERTIFICATE)

    def __call__(self, method, path, body):
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=WAIT, context=self._context)
        with contextlib.closing(connection):
            try:
                connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
                return connection.getresponse().status
            except ConnectionError:  # a client that gives a key would send it again
                return CUT


def test_figures_of_the_process_and_of_what_runs_there(tmp_path):
    with running(tmp_path / "rankone.db") as url:
        assert pid_of(Api(url)) == str(os.getpid()).encode()
        text = Api(url)("GET", "/metrics").body
    for name in (b"process_resident_memory_bytes", b"process_open_fds", b"process_cpu_seconds_total", b'version="'):
        assert name in text
