"""Live experiments on SQLite: durable throughput, what durability costs, flat with history, recovery, memory.

Baseline of the same run: one plain `sqlite3` transaction per ask and one per tell, inserting one row each.
"""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.usage import resident_megabytes
from rankone.live import Ask, Database, Experiment, Tell

N_ROWS, N_COLS, POLICY = 8, 10, "uts"
MILLION = 1_000_000


def report() -> str:
    with tempfile.TemporaryDirectory() as folder:
        parts = [throughput(Path(folder)), durabilities(Path(folder)), history(Path(folder))]
    return "\n\n".join(parts)


def start(path: Path, durability: str = "full") -> Experiment:
    experiment = Experiment(
        "bench", N_ROWS, N_COLS, POLICY, path, seed=1, durability=durability, outcomes={"max_open": MILLION}
    )
    experiment.tell(experiment.ask().id, False)  # kernels compiled and loaded
    return experiment


def plain_pairs_per_second(path: Path, seconds: float = 1.5) -> float:
    """The baseline: one durable transaction per ask and per tell, nothing else."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE event (seq INTEGER PRIMARY KEY, row INTEGER, col INTEGER, value INTEGER, secret BLOB)"
    )
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO event (row, col, value, secret) VALUES (1, 2, 0, ?)", (bytes(16),))
        connection.execute("COMMIT")
        done += 1
    connection.close()
    return done / 2 / (time.perf_counter() - begin)


def run_threads(experiment: Experiment, threads: int, seconds: float = 3.0) -> tuple[float, float, float]:
    """Return pairs a second, and the median and 99th percentile of one ask in milliseconds."""
    stop, counts, times = time.perf_counter() + seconds, [0] * threads, [[] for _ in range(threads)]

    def client(number: int) -> None:
        while time.perf_counter() < stop:
            begin = time.perf_counter()
            decision = experiment.ask()
            times[number].append(time.perf_counter() - begin)
            experiment.tell(decision.id, False)
            counts[number] += 1

    clients = [threading.Thread(target=client, args=(number,)) for number in range(threads)]
    begin = time.perf_counter()
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    asks = np.concatenate([np.array(each) for each in times]) * 1e3
    return sum(counts) / (time.perf_counter() - begin), float(np.median(asks)), float(np.percentile(asks, 99))


def throughput(folder: Path) -> str:
    lines = [
        'Durable ask + tell pairs on SQLite (`durability="full"`), one process, closed loop:\n',
        "| threads | pairs a second | times the baseline | median ask, ms | p99 ask, ms |\n|---|---|---|---|---|",
    ]
    baseline = plain_pairs_per_second(folder / "plain.db")
    lines.append(f"| 1, plain `sqlite3`, a transaction each | {baseline:,.0f} | 1 | | |")
    for threads in (1, 4, 16, 64, 256):
        with start(folder / f"threads{threads}.db") as experiment:
            speed, median, p99 = run_threads(experiment, threads)
        lines.append(f"| {threads} | {speed:,.0f} | {speed / baseline:.1f} | {median:.2f} | {p99:.2f} |")
    return "\n".join(lines)


def durabilities(folder: Path) -> str:
    lines = [
        "What durability costs in one thread:\n",
        "| durability | survives | pairs a second | median ask, ms | p99 ask, ms |\n|---|---|---|---|---|",
    ]
    survives = {
        "full": "crash and power cut",
        "normal": "crash (a power cut may take the last commits)",
        "off": "crash of the program only",
    }
    for durability, what in survives.items():
        with start(folder / f"{durability}.db", durability) as experiment:
            speed, median, p99 = run_threads(experiment, 1)
        lines.append(f"| {durability} | {what} | {speed:,.0f} | {median:.3f} | {p99:.3f} |")
    return "\n".join(lines)


def fill(experiment: Experiment, decisions: int) -> None:
    """Ask and tell in batches until there are so many decisions."""
    waiting: list[Tell] = []
    while (left := decisions - experiment.look(lambda fold: fold.decisions)) > 0:
        answers = experiment.do([*waiting, Ask(min(1000, left))])
        waiting = [Tell(decision.id, decision.number % 20 == 0) for decision in answers[-1]]
    experiment.do(waiting)


def ask_times(*experiments: Experiment, asks: int = 3000) -> list[np.ndarray]:
    """Return the milliseconds of asks to each; in turns, so that the machine's mood is the same for all."""
    times: list[list[float]] = [[] for _ in experiments]
    for _ in range(asks):
        for experiment, own in zip(experiments, times, strict=True):
            begin = time.perf_counter()
            decision = experiment.ask()
            own.append(time.perf_counter() - begin)
            experiment.tell(decision.id, False)
    return [np.array(own) * 1e3 for own in times]


def opening(path: Path) -> float:
    """Seconds until an experiment on file has answered its first ask."""
    begin = time.perf_counter()
    with Experiment("bench", db=path, durability="off") as experiment:
        experiment.ask()
        return time.perf_counter() - begin


def history(folder: Path) -> str:
    lines = ['With history (asks in one thread, `durability="normal"`: no disk in the way):\n', "| | |\n|---|---|"]
    path = folder / "large.db"
    with start(path, "normal") as large, start(folder / "small.db", "normal") as small:
        fill(large, 100_000)
        memory = resident_megabytes()
        begin = time.perf_counter()
        fill(large, MILLION)
        speed = (MILLION - 100_000) / (time.perf_counter() - begin)
        grown = resident_megabytes()
        fill(small, 1_000)
        early, late = ask_times(small, large)
        large.report()  # the first one of a process compiles, or loads what was compiled
        begin = time.perf_counter()
        large.report()
        reported = time.perf_counter() - begin
    lines += openings(folder / "half.db")
    for share in (50, 99):
        before, after = np.percentile(early, share), np.percentile(late, share)
        figures = f"{before:.3f} and {after:.3f} ms, ratio {after / before:.2f}"
        lines.append(f"| p{share} of ask at 10^3 and 10^6 decisions, asked in turns | {figures} |")
    lines.append(f"| memory at 10^5 and 10^6 decisions | {memory:.0f} and {grown:.0f} MB, ratio {grown / memory:.3f} |")
    lines.append(f"| batches of 1,000: decisions asked and told | {speed:,.0f} a second |")
    lines.append(f"| a report at 10^6 decisions | {reported * 1e3:.1f} ms |")
    lines.append(f"| size of the file, per decision with its outcome | {path.stat().st_size / MILLION:.0f} bytes |")
    return "\n".join(lines)


def openings(path: Path) -> Iterator[str]:
    """Time until a journal of a million events (half a million decisions with their outcomes) is ready to ask."""
    with start(path, "normal") as experiment:
        fill(experiment, MILLION // 2)
        events = experiment.look(lambda fold: fold.seq)
    yield f"| ready to ask, journal of {events:,} events, newest snapshot | {opening(path):.2f} s |"
    with Database(path) as database:
        database.use(lambda storage: storage.query("DELETE FROM rankone_snapshots"))
    yield f"| ready to ask, the same without a snapshot | {opening(path):.2f} s |"
