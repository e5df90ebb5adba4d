"""What the client sends again by itself, what it does not, and which connections it uses for it."""

import subprocess
import sys
import threading

import pytest

from rankone.client.client import Client
from rankone.errors import StorageError, TooManyOpen

from .proxy import CERTIFICATE, proxied

SETTINGS = {"rows": ["A", "B"], "cols": ["1", "2"], "policy": "ucb1"}


@pytest.fixture
def no_waiting(monkeypatch):
    def refuse(seconds):
        raise AssertionError(f"it waits {seconds} seconds")

    return lambda: monkeypatch.setattr("rankone.client.transport.time.sleep", refuse)


def test_lost_answers_are_asked_again_and_nothing_is_doubled(url):
    """A proxy that loses every third answer: decisions = distinct asks, each outcome counts once."""

    def lose_some(request):
        answer = request.pass_on()
        return answer if request.number % 3 else None

    with Client(url) as direct, proxied(url, lose_some) as proxy, Client(proxy.url, patience=60) as client:
        direct.create("lossy", **SETTINGS)
        experiment = client.experiment("lossy")
        for number in range(20):
            experiment.tell(experiment.ask().id, number % 2 == 0)
        report = direct.experiment("lossy").report()
    assert proxy.requests == 60
    assert report.decisions == 20
    assert (report.outcomes["clicked"], report.outcomes["not_clicked"]) == (10, 10)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_server_that_restarts_behind_a_proxy(url, status):
    """The proxy's word that nobody answers it is no reason to give up what may be sent twice."""

    def restart(request):
        return (status, b"<html>nginx</html>") if request.number < 2 else request.pass_on()

    with proxied(url, restart) as proxy, Client(proxy.url) as client:
        experiment = client.create(f"restarts-{status}", **SETTINGS)
        proxy.start_over()
        decision = experiment.ask()
        proxy.start_over()
        experiment.tell(decision, True)
        proxy.start_over()
        assert experiment.report().decisions == 1
        assert proxy.requests == 4 * 3


@pytest.mark.parametrize("status", [502, 503, 504])
def test_what_may_have_been_done_is_not_sent_again(url, status):
    """The service adds the row, but the proxy did not wait for it."""

    def be_late(request):
        request.pass_on()
        return status, b""

    with Client(url) as direct, proxied(url, be_late) as proxy, Client(proxy.url) as client:
        experiment = direct.create(f"late-{status}", **SETTINGS)
        with pytest.raises(StorageError, match=f"status {status}"):
            client.experiment(experiment.name).add_level("row", "C")
        assert proxy.requests == 1
        assert len(experiment.report().factors[0].levels) == 3


def test_a_change_waits_for_its_turn(url):
    """429: the service has not begun with it."""

    def limit(request):
        return (429, b"") if request.number < 2 else request.pass_on()

    with Client(url) as direct, proxied(url, limit) as proxy, Client(proxy.url) as client:
        direct.create("limited", **SETTINGS)
        assert client.experiment("limited").add_level("row", "C") == 2
        assert proxy.requests == 3


def test_too_many_open_is_said_at_once(url, no_waiting):
    """A visitor waits for the answer; retries would only make the page late."""
    with Client(url, patience=30) as client:
        experiment = client.create("crowded", 2, 2, "ucb1", outcomes={"max_open": 1})
        experiment.ask()
        no_waiting()
        with pytest.raises(TooManyOpen, match="at most 1 open"):
            experiment.ask()


def test_connections_that_were_closed_while_idle(url):
    """Every server closes idle connections. Nothing was sent, so every call goes on with another."""
    with proxied(url, idle_seconds=0.5) as proxy, Client(proxy.url, patience=0) as client:
        experiment = client.create("idle", **SETTINGS)
        proxy.wait_until_all_are_closed()
        experiment.ask()
        proxy.wait_until_all_are_closed()
        experiment.stop({"row": "A", "col": "1"})
        proxy.wait_until_all_are_closed()
        experiment.resume()


def test_a_connection_that_was_idle_for_long_is_not_used_again(url, monkeypatch):
    """What lies between may have forgotten it without closing it: then it looks open and answers nothing."""
    with proxied(url) as proxy, Client(proxy.url, patience=0) as client:
        experiment = client.create("forgotten", **SETTINGS)
        experiment.ask()
        assert proxy.connections == 1
        monkeypatch.setattr("rankone.client.transport._STALE", 0.0)
        experiment.ask()
        assert proxy.connections == 2


def test_a_connection_that_is_closed_as_a_change_is_sent(url):
    """A server that closes just then may have taken the change or not: so changes go over new connections."""

    def answer_once(request):
        return request.pass_on() if request.nth == 0 else None

    with proxied(url, answer_once) as proxy, Client(proxy.url) as client:
        experiment = client.create("closing", **SETTINGS)
        assert experiment.add_level("row", "C") == 2
        assert experiment.add_level("row", "D") == 3
        assert experiment.ask().number == 0
        assert proxy.requests == 5  # the ask was lost once


def test_threads_that_come_and_go_share_connections(url):
    with proxied(url) as proxy, Client(proxy.url) as client:
        experiment = client.create("threads", **SETTINGS)
        for _ in range(5):
            thread = threading.Thread(target=experiment.ask)
            thread.start()
            thread.join()
        assert experiment.report().decisions == 5
        assert proxy.connections == 1


FORKING = """
import os, sys
from rankone import Client

experiment = Client(sys.argv[1], patience=0).create("forked", 2, 2, "ucb1")
for _ in range(3):
    child = os.fork()
    experiment.tell(experiment.ask(), True)
    if not child:
        break
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_has_connections_of_its_own(url):
    """On a shared one, each would read what was meant for the other."""
    with proxied(url) as proxy, Client(url) as direct:
        subprocess.run([sys.executable, "-c", FORKING, proxy.url], check=True, timeout=120)
        assert proxy.connections == 1 + 3
        assert direct.experiment("forked").report().outcomes["clicked"] == 2 * 3


def test_certificates_are_checked(url, no_waiting, monkeypatch):
    no_waiting()  # it does not become valid by that
    with proxied(url, secure=True) as proxy:
        with Client(proxy.url) as client, pytest.raises(StorageError, match="CERTIFICATE_VERIFY_FAILED"):
            client.health()
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        with Client(proxy.url) as client:
            experiment = client.create("secure", **SETTINGS)
            assert [experiment.ask().number for _ in range(3)] == [0, 1, 2]
        assert proxy.connections == 1
