"""What an operator's wishes cost: a log in JSON, workers, a backup or an exclusion in the middle, many experiments, the
snippet on the wire.

Rounds in turns, so that whatever else the machine does meets all alike; ratios are medians over rounds. The bars: with
JSON logs at least 0.9 of the pairs a second without; two workers at least 1.5 times one where cores allow (here clients
and server share them, and writers of one experiment take turns: the processor time of a pair tells why it is less); p99
of ask during a backup at most 2 times that before. While outcomes are excluded nobody waits for the whole journal: the
longest ask takes at most a fifth of the time that the exclusion takes. A thousand experiments that rest take less than
a twentieth of a core, and 120 of 16 x 16 with 64 segments less than 512 MiB.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from tests.web.helpers import ROOT, Api, ServerProcess, copy_experiment, peak_mebibytes

from benchmarks.bench_service import CLIENTS, load, percentile
from benchmarks.usage import cpu_seconds_of
from rankone.live import Ask, Database, Experiment

SECONDS, ROUNDS = float(os.environ.get("RANKONE_BENCH_SECONDS", "6")), 3
DECISIONS = int(os.environ.get("RANKONE_BENCH_DECISIONS", "100000"))
PLAIN, JSON = (), ("--access-log", "--log-format", "json")


@contextlib.contextmanager
def service(folder: Path, name: str, *options: str):
    """Run a service on a database of its own."""
    db = folder / f"{name}.db"
    Experiment("bench", 8, 8, "uts", db=db, outcomes={"max_open": 1_000_000}).close()
    server = ServerProcess(db, *options, log_folder=folder)
    try:
        load(server.port, 1.0)
        yield server, db
    finally:
        server.end()


def family_cpu(pid: int) -> float:
    """Processor time of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_seconds_of(pid) + sum(cpu_seconds_of(int(child)) for child in children)


def one_round(server: ServerProcess) -> tuple[float, float, float]:
    """Return pairs a second, processor time of a pair in us, and p99 of ask in ms."""
    cpu = family_cpu(server.process.pid)
    found = load(server.port, SECONDS)
    pairs = len(found["tells"])
    used = family_cpu(server.process.pid) - cpu
    return pairs / found["seconds"], 1e6 * used / pairs, percentile(found["asks"], 0.99)


def compare(folder: Path, one: tuple[str, ...], other: tuple[str, ...]) -> tuple[list[float], list[float], list[float]]:
    """Return medians of both, and of their ratios round by round."""
    with service(folder, "one", *one) as (first, _), service(folder, "other", *other) as (second, _):
        rounds = [(one_round(first), one_round(second)) for _ in range(ROUNDS)]
    for name in ("one", "other"):
        for file in folder.glob(f"{name}.db*"):
            file.unlink()
    pick = [[median(pair[side][what] for pair in rounds) for what in range(3)] for side in range(2)]
    return pick[0], pick[1], [median(pair[1][what] / pair[0][what] for pair in rounds) for what in range(3)]


def backup_meanwhile(folder: Path) -> tuple[float, float, int]:
    """Return p99 of ask without and with backups that follow each other, and how many there were."""
    with service(folder, "copied") as (server, db):
        before, during, made = [], [], []
        for _ in range(ROUNDS):
            before.append(one_round(server)[2])
            over = threading.Event()

            def copy(over: threading.Event = over) -> None:
                while not over.is_set():
                    words = [sys.executable, "-m", "rankone", "backup", str(db), str(folder / "x.backup"), "--over"]
                    subprocess.run(words, check=True, capture_output=True, cwd=ROOT / "src")
                    made.append(1)

            thread = threading.Thread(target=copy)
            thread.start()
            during.append(one_round(server)[2])
            over.set()
            thread.join()
    return median(before), median(during), len(made)


def exclude_meanwhile(db: Path) -> tuple[float, float, float, float]:
    """Return p99 of ask before and during an exclusion, the longest one during it, in ms, and its seconds."""
    with Database(db, durability="off") as database:
        experiment = Experiment("0", 8, 8, "uts", db=database, seed=1, outcomes={"max_open": 10_000})
        for number in range(DECISIONS // 1000):
            told = [(decision, decision.number % 9 == 0) for decision in experiment.ask(1000)]
            experiment.tell_many(told, source="bot" if number % 20 == 0 else None)
        took: list[tuple[float, float]] = []
        over = threading.Event()

        def visit() -> None:
            while not over.is_set():
                began = time.perf_counter()
                experiment.tell(experiment.ask(), False)
                took.append((began, time.perf_counter() - began))
                time.sleep(0.002)

        visitors = [threading.Thread(target=visit) for _ in range(4)]
        for thread in visitors:
            thread.start()
        time.sleep(2.0)
        began = time.perf_counter()
        experiment.exclude(source="bot")
        ended = time.perf_counter()
        over.set()
        for thread in visitors:
            thread.join()
    before, during = ([one for at, one in took if (at < began) is early] for early in (True, False))
    return percentile(before, 0.99), percentile(during, 0.99), 1000 * max(during), ended - began


def resting(folder: Path, count: int, size: int, segments: int) -> tuple[float, float, float]:
    """Return the share of a core and the MiB at most of a service with experiments that rest, and ms of /metrics."""
    db = folder / f"{count}.db"
    with Database(db, durability="off") as database:
        experiment = Experiment("0", size, size, "uts", db=database, seed=1)
        said = [{"visitor": f"kind {number}"} for number in range(segments)] or [None]
        decisions = [made for one in experiment.do([Ask(1, context=each) for each in said]) for made in one]
        experiment.tell_many([(decision, True) for decision in decisions])
        copy_experiment(database, count - 1)
    server = ServerProcess(db, log_folder=folder)
    try:
        api = Api(server.url)
        api("GET", "/metrics")  # all are open then
        time.sleep(3.0)
        cpu = cpu_seconds_of(server.process.pid)
        time.sleep(SECONDS)
        share = (cpu_seconds_of(server.process.pid) - cpu) / SECONDS
        began = time.perf_counter()
        api("GET", "/metrics")
        return share, peak_mebibytes(server), 1000 * (time.perf_counter() - began)
    finally:
        server.end()


def report() -> str:
    """Return all figures as Markdown."""
    from rankone.web.server.routes.routes_snippet import _written

    lines = [
        f"{CLIENTS} closed-loop clients, SQLite, full durability; server and clients on {os.cpu_count()} cores; "
        f"load average of the machine {os.getloadavg()[0]:.1f} at the start.",
        "",
        "| | pairs a second | CPU a pair, µs | ask p99, ms |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, one, other in (
            ("JSON logs", PLAIN, JSON),
            ("two workers against one", ("--workers", "1"), ("--workers", "2")),
        ):
            first, second, ratios = compare(folder, one, other)
            for which, found in (
                ("without" if one is PLAIN else "one", first),
                ("with" if one is PLAIN else "two", second),
            ):
                lines.append(f"| {title}: {which} | {found[0]:,.0f} | {found[1]:.0f} | {found[2]:.1f} |")
            lines.append(f"| {title}: ratio | {ratios[0]:.2f} | {ratios[1]:.2f} | {ratios[2]:.2f} |")
        before, during, made = backup_meanwhile(folder)
        calm, busy, longest, seconds = exclude_meanwhile(folder / "excluded.db")
        idle, _, scrape = resting(folder, 1_000, 3, 0)
        peak = resting(folder, 120, 16, 64)[1]
    plain, packed, _ = _written()
    assert gzip.decompress(packed) == plain
    lines += [
        "",
        f"p99 of ask before {made} backups, one after the other: {before:.1f} ms; during them: {during:.1f} ms, "
        f"ratio {during / before:.2f} (bar: 2).",
        "",
        f"Outcomes excluded from a journal of {DECISIONS:,} decisions, which took {seconds:.1f} s: p99 of ask and tell "
        f"{calm:.1f} ms before, {busy:.1f} ms meanwhile; the longest took {longest / 1000 / seconds:.3f} of that time (bar: 0.2).",
        "",
        f"1,000 experiments that rest: {idle:.1%} of a core (bar: 5%), {scrape:.0f} ms for /metrics. 120 of 16 x 16 with "
        f"64 segments: {peak:.0f} MiB at most (bar: 512).",
        "",
        f"The snippet: {len(plain):,} bytes, {len(packed):,} on the wire (bar: 2,048).",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
