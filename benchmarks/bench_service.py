"""Speed of the service: ask + tell pairs a second through HTTP with full durability, and what the page costs writers.

Server and clients share this machine. The bar (2 cores, 64 closed-loop clients): at least 1,000 pairs a second, p99 of
ask under 100 ms; the page open at 10 requests a second over a million decisions worsens the writers' p99 by less than
20%. Arguments of ``python -m benchmarks.bench_service``: sqlite, postgres, page (all of them unless told).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.live.conftest import PostgresServer, postgres_binaries
from tests.web.helpers import ROOT, Api, ServerProcess

from benchmarks.usage import cpu_seconds_of
from rankone.live import Database, Experiment, Ranking

CLIENTS, SECONDS, ROUNDS = 64, 8.0, 3
MILLION = int(os.environ.get("RANKONE_BENCH_DECISIONS", "1000000"))


def load(port: int, seconds: float = SECONDS) -> dict:
    """Let the clients ask and tell; return their latencies."""
    with loading(port, seconds) as finished:
        return finished()


@contextlib.contextmanager
def loading(port: int, seconds: float, rate: float = 0.0):
    """Let the clients ask and tell, at a rate if one is given; yield what waits for them and returns their latencies."""
    with tempfile.NamedTemporaryFile() as file:
        words = ("-m", "benchmarks.service_load", port, "bench", CLIENTS, seconds, file.name, rate)
        clients = subprocess.Popen([sys.executable, *map(str, words)], cwd=ROOT)

        def finished() -> dict:
            assert clients.wait() == 0
            found = json.loads(Path(file.name).read_text())
            assert not found["errors"], found["errors"]
            return found

        try:
            yield finished
        finally:
            clients.kill()
            clients.wait()


def percentile(values: list[float], share: float) -> float:
    """In milliseconds."""
    return 1000.0 * sorted(values)[int(share * (len(values) - 1))]


def sync_milliseconds(folder: Path) -> float:
    """The floor of durability: the median of a small write that waits for the disk."""
    times = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(50):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return 1000.0 * median(times)


def figures(url: str) -> dict[str, float]:
    """Sums and counts of the server's own histograms."""
    lines = Api(url)("GET", "/metrics").body.decode().splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in found if name.partition("{")[0].endswith(("_sum", "_count"))}


Opened = Callable[[str | Path], Experiment | Ranking]


def open_pairs(db: str | Path) -> Experiment:
    return Experiment("bench", 8, 8, "uts", db=db, outcomes={"max_open": 1_000_000})


def open_lists(db: str | Path) -> Ranking:
    return Ranking("bench", 100, positions=10, policy="cascade-ts", db=db, outcomes={"max_open": 1_000_000})


@contextlib.contextmanager
def served(db: str | Path, opened: Opened = open_pairs):
    """Run `rankone serve` on a database that holds the experiment or the ranking 'bench'."""
    with opened(db):
        pass
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(db, log_folder=Path(folder))
        try:
            load(server.port, 1.0)  # compile, connect, fill caches
            yield server
        finally:
            server.end()


def throughput(name: str, db: str | Path, opened: Opened = open_pairs) -> str:
    """One line of the table: the best of some rounds, since others may use the machine."""
    rows = []
    with served(db, opened) as server:
        for _ in range(ROUNDS):
            before, cpu = figures(server.url), cpu_seconds_of(server.process.pid)
            found = load(server.port)
            cpu = cpu_seconds_of(server.process.pid) - cpu
            after = figures(server.url)
            commits = {key: after[key] - before[key] for key in after if key.startswith("rankone_commit")}
            count = commits["rankone_commit_seconds_count"]
            pairs = len(found["tells"])
            rows.append(
                (
                    pairs / found["seconds"],
                    percentile(found["asks"], 0.5),
                    percentile(found["asks"], 0.99),
                    cpu / found["seconds"],
                    1e6 * cpu / pairs,
                    commits["rankone_commit_requests_sum"] / count,
                    1000.0 * commits["rankone_commit_seconds_sum"] / count,
                )
            )
    best = max(rows)
    return (
        f"| {name} | "
        + " | ".join(f"{value:,.{digits}f}" for value, digits in zip(best, (0, 1, 1, 2, 0, 1, 1), strict=False))
        + " |"
    )


def fill(db: Path) -> None:
    """Make an experiment with a million decisions, as fast as it goes."""
    database = Database(db, durability="off")
    experiment = Experiment("bench", 8, 8, "uts", db=database, outcomes={"max_open": 1_000_000})
    while (done := experiment.look(lambda fold: fold.decisions)) < MILLION:
        decisions = experiment.ask(1000)
        experiment.tell_many([(decision.id, decision.number % 3 == 0) for decision in decisions])
        if done % 100_000 == 0:
            print(f"  {done:,} decisions", file=sys.stderr)
    database.close()


class Page:
    """Looks as the page does, ten times a second."""

    def __init__(self, url: str) -> None:
        self._api, self._over = Api(url), threading.Event()
        self.seconds: list[float] = []
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            begin = time.perf_counter()
            assert self._api.on("bench", "GET", "/view").status == 200
            self.seconds.append(time.perf_counter() - begin)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def readers(folder: Path) -> list[str]:
    """The writers' p99 without and with the page, turn by turn."""
    db = folder / "million.db"
    fill(db)
    without, with_page, views = [], [], []
    with served(db) as server:
        Api(server.url).on("bench", "GET", "/view")  # the first look counts the whole journal, once
        for _ in range(2 * ROUNDS):
            without.append(percentile(load(server.port)["asks"], 0.99))
            page = Page(server.url)
            with_page.append(percentile(load(server.port)["asks"], 0.99))
            page.close()
            views += page.seconds
    ratio = median(after / before for before, after in zip(without, with_page, strict=False))
    return [
        f"| p99 of ask over {MILLION:,} decisions | ms |",
        "|---|---|",
        f"| alone (rounds: {', '.join(f'{value:.1f}' for value in without)}) | {median(without):.1f} |",
        f"| page at 10 requests a second ({', '.join(f'{value:.1f}' for value in with_page)}) | {median(with_page):.1f} |",
        f"| ratio, median over rounds (bar: 1.20) | {ratio:.2f} |",
        f"| the page's own answer, median | {1000 * median(views):.1f} |",
    ]


def report(wanted: tuple[str, ...] = ("sqlite", "postgres", "page")) -> str:
    """Return all figures as Markdown."""
    lines = [
        f"{CLIENTS} closed-loop clients, full durability, policy uts on 8 x 8; server and clients on {os.cpu_count()} cores; "
        f"load average of the machine {os.getloadavg()[0]:.1f} at the start.",
        "",
        "| database | pairs a second | ask p50, ms | ask p99, ms | server CPUs | CPU a pair, µs | requests a commit | commit, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "sqlite" in wanted:
            lines.append(throughput("SQLite", folder / "bench.db"))
            lines.append(throughput("SQLite, lists of 10 of 100 items", folder / "lists.db", open_lists))
        if "postgres" in wanted and (binaries := postgres_binaries()):
            server = PostgresServer(binaries, fsync="on")
            try:
                lines.append(throughput("PostgreSQL", server.new_database()))
            finally:
                server.close()
        lines += ["", f"A bare 4 KiB write with fsync: {sync_milliseconds(folder):.1f} ms (median)."]
        if "page" in wanted:
            lines += ["", *readers(folder)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(tuple(sys.argv[1:]) or ("sqlite", "postgres", "page")))
