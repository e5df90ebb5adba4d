"""The service killed and restarted under load: nothing acknowledged is lost or doubled, and all figures agree."""

import json
import re
import signal
import threading
import time

import pytest

from rankone.errors import RankoneError
from rankone.numerics.seeds import generator
from rankone.serving import Experiment
from rankone.serving.doctor import examine
from rankone.serving.journal import DECISION, KIND, VALUE, Kind
from rankone.web.client import Client

from .helpers import Api, ServerProcess

CLIENTS = 6


class Crowd:
    """Clients that ask and tell through kills, and write down what was acknowledged."""

    def __init__(self, url):
        self._url, self._over = url, threading.Event()
        self.asked, self.told, self.failures = {}, {}, []
        self._threads = [threading.Thread(target=self._visit, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _visit(self, number):
        rng = generator(number, "crowd")
        with Client(self._url, patience=120) as client:
            experiment = client.experiment("homepage")
            while not self._over.is_set():
                try:
                    decision = experiment.ask()
                    self.asked[decision.id] = decision
                    clicked = bool(rng.random() < 0.4)
                    outcome = experiment.tell(decision.id, clicked)
                    assert outcome.clicked is clicked
                    self.told[decision.id] = clicked
                except RankoneError as error:
                    self.failures.append(error)
                    return

    def go_home(self):
        self._over.set()
        for thread in self._threads:
            thread.join()


def metric(text, name, **labels):
    """The value of a figure in the text of /metrics."""
    for line in text.splitlines():
        found = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
        if found and found[1] == name and all(f'{key}="{value}"' in found[2] for key, value in labels.items()):
            return float(found[3])
    raise AssertionError(f"no {name} {labels}")


def check_figures(db, crowd, metrics):
    """History as the clients saw it, metrics, journal and state all say the same."""
    with Experiment("homepage", db=db) as experiment:
        rows = experiment.database.storage.tail(1, 0, 10**9)
        counts = experiment.report().outcomes
        state = experiment.look(lambda fold: (fold.decisions, int(fold.pulls.sum()), int(fold.clicks.sum())))
    asked = [row for row in rows if row[KIND] == Kind.ASK]
    told = {row[DECISION]: row[VALUE] for row in rows if row[KIND] == Kind.TELL}
    assert len(told) == sum(row[KIND] == Kind.TELL for row in rows), "learned twice"
    ids = {f"{row[DECISION]}-{bytes(row[8]).hex()}" for row in asked}
    assert set(crowd.asked) <= ids, "an acknowledged decision is lost"
    assert {id: told.get(int(id.split("-")[0])) for id in crowd.told} == crowd.told
    assert state == (len(asked), len(told), sum(told.values()))
    assert metric(metrics, "rankone_decisions_total", experiment="homepage") == len(asked)
    assert metric(metrics, "rankone_journal_events_total", experiment="homepage") == len(rows)
    for kind in ("clicked", "not_clicked", "expired", "late", "void"):
        assert metric(metrics, "rankone_outcomes_total", experiment="homepage", kind=kind) == counts[kind]
    assert metric(metrics, "rankone_open_decisions", experiment="homepage") == counts["open"] == len(asked) - len(told)
    assert counts["clicked"] == sum(told.values())
    assert all(finding.ok for finding in examine(db))


@pytest.mark.parametrize(("how", "times"), [(signal.SIGKILL, 3), (signal.SIGTERM, 1)])
def test_killed_and_restarted_under_load(tmp_path, how, times):
    db = tmp_path / "rankone.db"
    Experiment("homepage", 3, 2, "ucb1", db, seed=1).close()
    server, rng = ServerProcess(db, "--durability", "normal"), generator(how, "kills")
    crowd = Crowd(server.url)
    for _ in range(times):
        seen = len(crowd.told)
        while len(crowd.told) < seen + 30:
            time.sleep(0.005)
        time.sleep(float(rng.random()) * 0.05)
        code = server.end(how)
        assert code == (-how if how == signal.SIGKILL else 0)
        server.start()
    seen = len(crowd.told)
    while len(crowd.told) < seen + 30:
        time.sleep(0.005)
    crowd.go_home()
    assert crowd.failures == []
    metrics = Api(server.url)("GET", "/metrics").body.decode()
    assert server.end() == 0
    check_figures(db, crowd, metrics)


def test_sigterm_finishes_what_was_accepted(tmp_path):
    """What was stored was answered: no client is left without the answer to something that was done."""
    import http.client

    db = tmp_path / "rankone.db"
    Experiment("homepage", 3, 2, "ucb1", db, seed=1).close()
    server = ServerProcess(db)
    answered = []

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            while True:
                connection.request("POST", "/v1/experiments/homepage/ask")
                response = connection.getresponse()
                answered.extend(json.loads(response.read())["decisions"])
        except (OSError, http.client.HTTPException):
            connection.close()

    threads = [threading.Thread(target=client) for _ in range(16)]
    for thread in threads:
        thread.start()
    while len(answered) < 100:
        time.sleep(0.005)
    assert server.end(signal.SIGTERM) == 0
    for thread in threads:
        thread.join()
    with Experiment("homepage", db=db) as experiment:
        assert experiment.look(lambda fold: fold.decisions) == len({decision["id"] for decision in answered})
