"""The service killed and restarted under load: nothing acknowledged is lost or doubled, and all figures agree.

RANKONE_KILLS=1000 runs the long version.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from rankone.client.client import Client
from rankone.errors import RankoneError
from rankone.live import Experiment
from rankone.live.commit.decisions import knows
from rankone.live.journal.events import COLUMNS, DECISION, KIND, VALUE, Kind
from rankone.live.operate.archive import whole_journal
from rankone.live.operate.backup import backup
from rankone.live.operate.doctor import examine
from rankone.live.storage import is_file
from rankone.numerics.seeds import generator
from tests.live.helpers import ORDERS, Clock, at, orders_of

from .helpers import Api

SECRET = COLUMNS.index("secret")

CLIENTS = 6
OF_GOALS = {"homepage": {"goals": ORDERS}, "windowed": {}}
WINDOW = 1.0  # seconds, of the second experiment


class Crowd:
    """Clients that ask and tell through kills, and write down what was acknowledged."""

    def __init__(self, *servers):
        self._urls, self._over = [server.url for server in servers], threading.Event()
        self.asked, self.told, self.failures = {}, {}, []
        self.ordered = set()  # decision and key
        self.seen, self.clicked = set(), {}  # of the experiment with a window: decisions, and what became of clicks
        self._threads = [threading.Thread(target=self._visit, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()
        with Client(self._urls[0], patience=600, timeout=600) as client:  # a new era, among all the others' requests
            client.experiment("homepage").add_level("row", "new")

    def _visit(self, number):
        """Ask here, tell there, and tell some outcomes twice."""
        rng = generator(number, "crowd")
        here, there = (self._urls[(number + step) % len(self._urls)] for step in (0, 1))
        with Client(here, patience=600, timeout=600) as one, Client(there, patience=600, timeout=600) as other:
            try:
                while not self._over.is_set():
                    said = None if number == 0 else {"device": f"device {number % 3}"}
                    visitor = f"visitor {number} {len(self.asked)} {rng.random()}"
                    decision = one.experiment("homepage").ask(context=said, visitor=visitor)
                    self.asked[decision.id] = said
                    self._order(one, other, visitor, decision.id, rng)
                    clicked = bool(rng.random() < 0.4)
                    assert other.experiment("homepage").tell(decision.id, clicked).clicked is clicked
                    self.told[decision.id] = clicked
                    if rng.random() < 0.2:
                        assert one.experiment("homepage").tell(decision.id, clicked).repeated
                    self._look_on(one, other, rng)
            except (RankoneError, AssertionError) as error:
                self.failures.append(error)

    def _order(self, one, other, visitor, id, rng):
        """Track an order, some of them twice, to one experiment or to all that have the goal."""
        if rng.random() < 0.3:
            assert one.experiment("homepage").track(visitor, "order", 2.5, key=visitor).status == "held"
            self.ordered.add((int(id.split("-")[0]), visitor))
            if rng.random() < 0.5:
                assert other.track(visitor, "order", 2.5, key=visitor)["homepage"].repeated

    def _look_on(self, one, other, rng):
        """Where silence is an answer, too: tell clicks only, some of them when the window is over."""
        decision = one.experiment("windowed").ask()
        self.seen.add(decision.id)
        if rng.random() < 0.4:
            time.sleep(WINDOW if rng.random() < 0.1 else 0)
            self.clicked[decision.id] = other.experiment("windowed").tell(decision.id, True).status

    def wait(self, outcomes=30):
        """Wait until so many more outcomes are acknowledged."""
        wanted = len(self.told) + outcomes
        while len(self.told) < wanted and not self.failures:
            time.sleep(0.005)

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


def check_figures(db, crowd, metrics, archives=None):
    """History as the clients saw it, with its segments and eras, metrics of every server, journal and state agree."""
    with Experiment("homepage", db=db) as experiment:
        with experiment.database.reader() as storage:
            rows = whole_journal(storage, 1, archives).tail(1, 0, 10**9)
        assert crowd.ordered <= orders_of(experiment, rows), "an acknowledged order is lost"
        report = experiment.report()
        state = experiment.look(lambda fold: (fold.decisions, int(fold.pulls.sum()), int(fold.clicks.sum())))
    asked = [row for row in rows if row[KIND] == Kind.ASK]
    told = {row[DECISION]: row[VALUE] for row in rows if row[KIND] == Kind.TELL}
    assert len(told) == sum(row[KIND] == Kind.TELL for row in rows), "learned twice"
    counts = report.outcomes
    stored = {row[DECISION]: (bytes(row[SECRET]), row[COLUMNS.index("context")]) for row in asked}
    for id, said in crowd.asked.items():
        number, secret = id.split("-")
        # A visitor's ask that is sent again, after a kill, is answered with an id that can tell and not cancel.
        assert knows(stored[int(number)][0], bytes.fromhex(secret)), "an acknowledged decision is lost"
        assert json.loads(stored[int(number)][1] or "null") == said, "what was said of a visitor is lost"
    by_name = Counter(json.loads(text)["device"] for _, text in stored.values() if text is not None)
    assert {segment.name: segment.decisions for segment in report.segments.segments} == by_name
    assert report.segments.unsaid[0] == len(stored) - by_name.total()
    assert len(report.eras) == 1 + sum(row[KIND] == Kind.ERA for row in rows) == 2
    assert {id: told.get(int(id.split("-")[0])) for id in crowd.told} == crowd.told
    assert state == (len(asked), len(told), sum(told.values()))
    assert counts["open"] == len(asked) - len(told)
    for text in metrics:
        assert metric(text, "rankone_decisions_total", experiment="homepage") == len(asked)
        assert metric(text, "rankone_journal_events_total", experiment="homepage") == len(rows)
        assert metric(text, "rankone_open_decisions", experiment="homepage") == counts["open"]
        for kind in ("clicked", "not_clicked", "expired", "late", "void"):
            assert metric(text, "rankone_outcomes_total", experiment="homepage", kind=kind) == counts[kind]
    assert counts["clicked"] == sum(told.values())
    check_windows(db, crowd, archives)
    assert [finding for finding in examine(db, archives) if not finding.ok] == []


def check_windows(db, crowd, archives):
    """Whatever was acknowledged as held is learned once, as a click; silence is learned once, as none."""
    with Experiment("windowed", db=db) as experiment:
        experiment.settle()
        with experiment.database.reader() as storage:
            rows = whole_journal(storage, 2, archives).tail(2, 0, 10**9)
        learned = experiment.look(lambda fold: (int(fold.pulls.sum()), int(fold.clicks.sum())))
    events = {}
    for row in rows:
        events.setdefault(row[DECISION], []).append((Kind(row[KIND]), row[VALUE]))
    ids = {f"{row[DECISION]}-{bytes(row[COLUMNS.index('secret')]).hex()}" for row in rows if row[KIND] == Kind.ASK}
    assert crowd.seen <= ids, "an acknowledged decision is lost"
    for id, status in crowd.clicked.items():
        after = [event for event in events[int(id.split("-")[0])] if event[0] != Kind.ASK]
        ends = [(Kind.EXPIRE, 0), (Kind.LATE, 1)] if status == "late" else [(Kind.HOLD, 1), (Kind.LEARN, 1)]
        assert after in (ends, ends[:1]) if status != "late" else after == ends, (id, status, after)
    closed = [value for each in events.values() for kind, value in each if kind in (Kind.LEARN, Kind.EXPIRE)]
    assert learned == (len(closed), sum(closed))
    assert all(sum(kind in (Kind.LEARN, Kind.EXPIRE) for kind, _ in each) <= 1 for each in events.values())


KILLS = [signal.SIGKILL] * (int(os.environ.get("RANKONE_KILLS", "60")) // 60)  # each costs the start of a server


@pytest.mark.parametrize(("kind", "servers"), [("sqlite", 1), ("postgres", 2)])
def test_killed_and_restarted_under_load(request, tmp_path, start_server, kind, servers):
    """One server on SQLite, or two on PostgreSQL of which one goes on while the other is killed."""
    db = tmp_path / "rankone.db" if kind == "sqlite" else request.getfixturevalue("postgres").new_database()
    for name, window in (("homepage", None), ("windowed", WINDOW)):
        settings = {"seed": 1, "context": {"device": None}} | OF_GOALS[name]
        Experiment(name, 3, 2, "ucb1", db, outcomes={"window": window}, **settings).close()
    running = [start_server(db, "--durability", "normal", log_folder=tmp_path) for _ in range(servers)]
    crowd, rng = Crowd(*running), generator(servers, "kills")
    for number, how in enumerate(KILLS if servers > 1 else [*KILLS, signal.SIGTERM]):
        crowd.wait()
        time.sleep(float(rng.random()) * 0.05)
        server = running[number % servers]
        assert server.end(how) == (-how if how == signal.SIGKILL else 0)
        server.start()
    crowd.wait()
    crowd.go_home()
    assert crowd.failures == []
    metrics = [Api(server.url)("GET", "/metrics").body.decode() for server in running]
    assert [server.end() for server in running] == [0] * servers
    check_figures(db, crowd, metrics)


class Keeper:
    """Archives and backups that go on all the time; every other archive is killed, too."""

    def __init__(self, db, folder, hours):
        self._db, self._folder, self._left = db, folder, hours
        self._over, self.archives, self.backups, self.failures = threading.Event(), 0, 0, []
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def _keep(self):
        rng = generator(3, "keeper")
        while not self._over.is_set() or self.archives == 0:
            try:
                self._archive(after=float(rng.random()) * 3.0)
                self._archive()
                if is_file(self._db):
                    backup(self._db, self._folder / "all.backup", over=True)
                    self.backups += 1
            except Exception as error:
                self.failures.append(error)
                return

    def _archive(self, after=None):
        """Archive what is older than ever less; kill it after some seconds, or let it finish."""
        self._left = max(1, self._left - 3)
        words = ["archive", str(self._db), "--to", str(self._folder / "archives"), "--older-than", f"{self._left}h"]
        with (self._folder / "archive.log").open("a") as log:
            process = subprocess.Popen([sys.executable, "-m", "rankone", *words], stdout=log, stderr=log)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.kill()
        if process.wait() != -signal.SIGKILL:
            assert process.returncode == 0, (self._folder / "archive.log").read_text()
            self.archives += 1

    def end(self):
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"] if len(KILLS) > 1 else ["sqlite"])
def test_archives_and_backups_under_load_and_kills(request, tmp_path, start_server, kind):
    """An experiment of some days is archived and copied while its service, and archives, are killed."""
    db = tmp_path / "rankone.db" if kind == "sqlite" else request.getfixturevalue("postgres").new_database()
    hours = 200
    for name, window in (("homepage", None), ("windowed", WINDOW)):
        clock = Clock(time.time_ns() // 1000 - hours * 3_600_000_000)
        settings = {
            "outcomes": {"window": window},
            "seed": 1,
            "durability": "off",
            "context": {"device": None},
        } | OF_GOALS[name]
        with at(clock)(name, 3, 2, "ucb1", db, **settings) as experiment:
            for number in range(2 * hours):
                asked = experiment.ask()
                if number % 9:
                    experiment.tell(asked.id, clicked=number % 4 == 0)
                clock.pass_seconds(1_800)
    server = start_server(db, "--durability", "normal", log_folder=tmp_path)
    crowd, keeper = Crowd(server), Keeper(db, tmp_path, hours)
    for _ in KILLS:
        crowd.wait()
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        server.start()
    crowd.wait()
    keeper.end()
    crowd.wait()
    crowd.go_home()
    assert (crowd.failures, keeper.failures) == ([], [])
    assert keeper.archives
    metrics = [Api(server.url)("GET", "/metrics").body.decode()]
    assert server.end() == 0
    check_figures(db, crowd, metrics, tmp_path / "archives")
    if keeper.backups:
        assert [finding for finding in examine(tmp_path / "all.backup", tmp_path / "archives") if not finding.ok] == []


def test_sigterm_finishes_what_was_accepted(tmp_path, start_server):
    """What was stored was answered: no client is left without the answer to something that was done."""
    db = tmp_path / "rankone.db"
    Experiment("homepage", 3, 2, "ucb1", db, seed=1).close()
    server = start_server(db)
    answered = []

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
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
        assert any(thread.is_alive() for thread in threads)
        time.sleep(0.005)
    assert server.end(signal.SIGTERM) == 0
    for thread in threads:
        thread.join()
    with Experiment("homepage", db=db) as experiment:
        assert experiment.look(lambda fold: fold.decisions) == len({decision["id"] for decision in answered})
