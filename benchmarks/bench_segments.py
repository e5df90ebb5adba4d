"""Segments: what it costs to say something of a visitor, and how often a segment is told apart wrongly."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.serving.segment_worlds import played, wrong

from rankone.serving import Experiment
from rankone.serving.segment_verdict import Statement
from rankone.serving.segments import Segments

EQUAL = [([0.9] * 4, [0.9] * 4)] * 8
RESCALED = [([0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6])] * 8
TURNS, ASKS = 15, 300
SEGMENTS = [{"device": device, "country": country} for device in ("phone", "desk") for country in ("DE", "AT")]


def report() -> str:
    """Return all figures."""
    with tempfile.TemporaryDirectory() as folder:
        return f"{costs(Path(folder))}\n\n{false_statements()}"


def false_statements(runs: int = 400) -> str:
    """Return how often anything false is ever said of 8 segments, where levels are equal and where segments rescale."""
    lines = ["Runs in which anything false is ever said of 8 segments, each of which moves by itself (bar 5 %):\n"]
    lines.append(
        '| world | runs | false statement | "it depends" | each statement at 5 % by itself |\n|---|---|---|---|---|'
    )
    for name, world in (("all levels equal", EQUAL), ("segments only rescale", RESCALED)):
        false = depends = careless = 0
        for seed in range(runs):
            segments, looks = played(world, seed)
            false += any(wrong(world, look.statements) for look in looks)
            depends += any(any(look.depends) for look in looks)
            careless += bool(wrong(world, careless_statements(segments)))
        lines.append(f"| {name} | {runs} | {false / runs:.1%} | {depends / runs:.1%} | {careless / runs:.1%} |")
    return "\n".join(lines)


def careless_statements(segments: Segments) -> list[Statement]:
    """Return what would be said if every statement had the whole error for itself."""
    return [
        Statement(number, int(better), int(worse))
        for number, evidence in enumerate(segments.evidence)
        for better, worse in np.argwhere(evidence.proof >= np.log(1 / 0.05))
    ]


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
