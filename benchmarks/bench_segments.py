"""Segments: what it costs to say something of a visitor, and how often a segment is told apart wrongly."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from rankone.serving import Experiment

TURNS, ASKS = 15, 300
SEGMENTS = [{"device": device, "country": country} for device in ("phone", "desk") for country in ("DE", "AT")]


def report() -> str:
    """Return all figures."""
    with tempfile.TemporaryDirectory() as folder:
        return costs(Path(folder))


def costs(folder: Path) -> str:
    """Return how much more processor time an ask takes that says something of the visitor: the median over turns."""
    lines = ["An ask with a segment, in times the processor time of one without (bar 1.3), and with its tell:\n"]
    lines.append("| levels | ask | ask and tell |\n|---|---|---|")
    for size in ((2, 2), (4, 5), (8, 8)):
        with (
            Experiment("plain", *size, db=folder / f"{size}.db", seed=1, durability="off") as plain,
            Experiment("said", *size, db=folder / f"{size}.db", seed=1, durability="off") as said,
        ):
            turns = [(_turn(plain, False), _turn(said, True)) for _ in range(TURNS + 1)][1:]  # the first compiles
        asks, pairs = (
            statistics.median(with_it[what] / without[what] for without, with_it in turns) for what in (0, 1)
        )
        lines.append(f"| {size[0]} x {size[1]} | {asks:.2f} | {pairs:.2f} |")
    return "\n".join(lines)


def _turn(experiment: Experiment, say: bool) -> tuple[float, float]:
    """Return the processor time of some asks, and of these with their tells."""
    asking, begin = 0.0, time.process_time()
    for visit in range(ASKS):
        asked = time.process_time()
        decision = experiment.ask(segment=SEGMENTS[visit % len(SEGMENTS)]) if say else experiment.ask()
        asking += time.process_time() - asked
        experiment.tell(decision, visit % 7 == 0)
    return asking, time.process_time() - begin
