"""Eight processes on one SQLite file: how long does the unluckiest ask wait, and does one process alone pay for it?"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from rankone.live import Experiment

SECONDS = 5.0


def client(db: str, durability: str, together: Barrier, answers: Queue[list[float]]) -> None:
    """Ask and tell in a closed loop; put the seconds of each ask."""
    with Experiment("bench", db=db, durability=durability) as experiment:
        experiment.tell(experiment.ask().id, False)
        together.wait()
        end, times = time.perf_counter() + SECONDS, []
        while time.perf_counter() < end:
            asked = time.perf_counter()
            decision = experiment.ask()
            times.append(time.perf_counter() - asked)
            experiment.tell(decision.id, False)
    answers.put(times)


def measure(folder: Path, processes: int, durability: str) -> tuple[float, float, float, int]:
    """Return pairs a second, the 99th percentile and the worst ask in milliseconds, and the slowest process's pairs."""
    db, context = str(folder / f"{processes}-{durability}.db"), multiprocessing.get_context("spawn")
    with Experiment(
        "bench", 8, 10, "uts", db, seed=1, durability=durability, outcomes={"max_open": 1_000_000}
    ) as experiment:
        experiment.tell(experiment.ask().id, False)
    answers: Queue[list[float]] = context.Queue()
    together = context.Barrier(processes)
    clients = [context.Process(target=client, args=(db, durability, together, answers)) for _ in range(processes)]
    for process in clients:
        process.start()
    times = [answers.get(timeout=600) for _ in clients]
    for process in clients:
        process.join()
    asks = np.concatenate([np.array(each) for each in times]) * 1e3
    return len(asks) / SECONDS, float(np.percentile(asks, 99)), float(asks.max()), min(map(len, times))


def report() -> str:
    lines = [
        f"Ask + tell pairs of processes on one SQLite file, a thread each, closed loop, {SECONDS:.0f} s:\n",
        "| processes | durability | pairs a second | p99 ask, ms | worst ask, ms | pairs of the slowest process |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for processes in (1, 8):
            for durability in ("full", "normal"):
                speed, p99, worst, least = measure(Path(folder), processes, durability)
                lines.append(f"| {processes} | {durability} | {speed:,.0f} | {p99:,.1f} | {worst:,.0f} | {least:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
