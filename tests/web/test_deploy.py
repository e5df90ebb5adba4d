"""The files of `deploy/`: nginx and Caddy as the distribution has them, in front of the real service; the rest by form."""

import configparser
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
import yaml

from rankone.client.client import Client
from rankone.live import Database
from rankone.web.server.access.tokens import create_token
from rankone.web.server.metrics import _FIGURES

from .helpers import ROOT, WAIT, free_port

DEPLOY = ROOT / "deploy"
CERTIFICATE = Path(__file__).parent / "loopback.pem"
NGINX, CADDY = shutil.which("nginx") or shutil.which("/usr/sbin/nginx"), shutil.which("caddy")
REQUIRED = os.environ.get("RANKONE_REQUIRE_PROXIES") == "1"
MAIN = """
daemon off; master_process off; error_log {folder}/error.log; pid {folder}/pid;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; {site} }}
"""


@pytest.fixture
def folder():
    """A short and open folder: a proxy may be another user."""
    with tempfile.TemporaryDirectory(prefix="proxy-") as found:
        yield Path(found)


def nginx(folder, service, port):
    site = (DEPLOY / "nginx.conf").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{service}")
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}")
    site = re.sub(r"/etc/ssl/rankone\.\w+", str(CERTIFICATE), site)
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, site=site))
    return [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")], {}


def caddy(folder, service, port):
    site = (DEPLOY / "Caddyfile").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{service}")
    site = site.replace("rankone.example {", f"https://127.0.0.1:{port} {{\n\ttls {CERTIFICATE} {CERTIFICATE}")
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n"
    (folder / "Caddyfile").write_text(options + site)
    words = [CADDY, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    return words, {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


@contextlib.contextmanager
def proxy(make, folder, service):
    port = free_port()
    words, more = make(folder, service, port)
    with (folder / "proxy.log").open("w") as log:
        process = subprocess.Popen(words, env={**os.environ, **more}, stdout=log, stderr=log)
    try:
        began = time.monotonic()
        while True:
            assert process.poll() is None, (folder / "proxy.log").read_text()
            assert time.monotonic() < began + WAIT, (folder / "proxy.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("make", [nginx, caddy])
def test_a_proxy_in_front_of_the_service(tmp_path, folder, start_server, make, monkeypatch):
    """TLS, connections that stay open, the visitor's address, and a restart in the middle of all asks."""
    if not (NGINX if make is nginx else CADDY):
        assert not REQUIRED, f"RANKONE_REQUIRE_PROXIES=1, but {make.__name__} is not installed"
        pytest.skip(f"{make.__name__} is not installed")
    db = tmp_path / "rankone.db"
    with Database(db) as database:
        token = create_token(database, ["ask", "tell", "read", "admin"])
    server = start_server(db, "--proxy-headers", "--access-log", "--log-format", "json")
    context = ssl.create_default_context(cafile=CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))  # for the client
    with proxy(make, folder, server.port) as port:
        kept = http.client.HTTPSConnection("127.0.0.1", port, timeout=WAIT, context=context)
        sockets = set()
        for _ in range(3):
            kept.request("GET", "/health/ready")
            sockets.add(id(kept.sock))
            answer = kept.getresponse()
            assert (answer.status, answer.read()[:14]) == (200, b'{"status":"ok"')
        assert len(sockets) == 1
        kept.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        assert kept.getresponse().status == 403
        kept.close()
        asked = []
        with Client(f"https://127.0.0.1:{port}", token=token, patience=5 * WAIT) as client:
            homepage = client.create("homepage", 2, 2, "ucb1")
            stop = threading.Event()

            def ask():
                while not stop.is_set():
                    asked.append(homepage.ask().id)

            thread = threading.Thread(target=ask)
            thread.start()
            while len(asked) < 20:
                time.sleep(0.01)
            assert server.end() == 0
            server._log.rename(tmp_path / "first.log")
            server.start()
            enough = len(asked) + 20
            while len(asked) < enough:
                assert thread.is_alive()
                time.sleep(0.01)
            stop.set()
            thread.join()
            assert len(set(asked)) == homepage.report().decisions == len(asked)
    lines = [json.loads(line) for line in (tmp_path / "first.log").read_text().splitlines() if line.startswith("{")]
    requests = [line for line in lines if line.get("operation") == "ask"]
    assert {line["client"] for line in requests} == {"127.0.0.1"}
    assert all(re.fullmatch("[0-9a-f]{32}", line["id"]) for line in requests) is (make is nginx)  # the proxy's own id
    assert token.split("_", 2)[2] not in (tmp_path / "first.log").read_text()


def test_the_unit_is_hardened_and_names_options_there_are():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(DEPLOY / "rankone.service")
    service = parser["Service"]
    assert (service["NoNewPrivileges"], service["ProtectSystem"], service["User"]) == ("yes", "strict", "rankone")
    assert "postgresql.service" in parser["Unit"]["After"]
    assert "--workers" in service["ExecStart"]  # which makes ExecReload graceful
    if shutil.which("systemd-analyze"):
        told = subprocess.run(["systemd-analyze", "verify", DEPLOY / "rankone.service"], capture_output=True, text=True)
        wrong = [
            line for line in told.stderr.splitlines() if "rankone.service:" in line and "not executable" not in line
        ]
        assert wrong == []


def test_the_compose_file_locks_the_service_in():
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = found["services"]["rankone"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["depends_on"]["db"]["condition"] == "service_healthy"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (DEPLOY.parent / service["build"]["dockerfile"]).is_file()


def test_the_image_is_made_of_files_there_are_and_runs_as_nobody():
    text = re.sub(r"\\\n", "", (DEPLOY / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= {
        "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"
    }  # fmt: skip
    assert sum(line.startswith("FROM") for line in lines) == 2
    assert "USER 10001" in lines
    installs = re.findall(r"pip install[^&\n]*", text)
    assert ["--require-hashes" in install or "--no-deps --no-build-isolation ." in install for install in installs] == [
        True
    ] * 2
    copied = [word for line in lines if line.startswith("COPY") and "--from" not in line for word in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied), copied


def test_alerts_are_on_figures_there_are():
    rules = [rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
    names = set(re.findall(r"\b(rankone_\w+)", " ".join(rule["expr"] for rule in rules)))
    counted = {f"rankone_{name}{end}" for name in _FIGURES for end in ("", "_total")}
    counted |= {"rankone_damaged", "rankone_http_requests_total"}
    counted |= {"rankone_http_request_seconds_bucket", "rankone_commit_seconds_bucket"}
    assert names <= counted
    explained = (ROOT / "docs" / "operating.md").read_text()
    assert all(f"`{rule['alert']}`" in explained for rule in rules)
