"""Segments: what it costs to say something of a visitor, and how often a segment is told apart wrongly."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.live.segment_worlds import played, wrong

from benchmarks.changing_worlds import one_run
from rankone.live import Experiment
from rankone.live.evidence.segments import Segments
from rankone.live.verdict.segment_verdict import Statement
from rankone.problems.segmented import Segmented
from rankone.simulation import simulate

EQUAL = [([0.9] * 4, [0.9] * 4)] * 8
RESCALED = [([0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6])] * 8
A, C, D = [0.9, 0.7, 0.6, 0.5, 0.4, 0.3], [0.5, 0.9, 0.6, 0.7, 0.4, 0.3], [0.4, 0.5, 0.9, 0.7, 0.6, 0.3]
SCALES = (1.0, 0.8, 0.6, 0.9)  # how often the visitors of each segment click at all
SHORT, OTHER, THIRD = [0.9, 0.7, 0.5, 0.3], [0.5, 0.9, 0.7, 0.3], [0.3, 0.5, 0.9, 0.7]
# For each world its factors, for each factor the levels in each segment.
WORLDS = {
    "all agree": ((A, A, A, A), (A, A, A, A)),
    "two differ": ((A, A, C, D), (A, A, A, A)),
    "two differ in the same way": ((A, A, C, C), (A, A, A, A)),
    "two differ, in columns too": ((A, A, C, D), (A, A, C, D)),
    "two differ in one of three factors": ((SHORT, SHORT, OTHER, THIRD), (SHORT,) * 4, (SHORT,) * 4),
}
TURNS, ASKS = 15, 300
SEGMENTS = [{"device": device, "country": country} for device in ("phone", "desk") for country in ("DE", "AT")]


def report() -> str:
    """Return all figures."""
    with tempfile.TemporaryDirectory() as folder:
        return f"{costs(Path(folder))}\n\n{steps()}\n\n{false_statements()}\n\n{regrets()}"


def false_statements(runs: int = 400) -> str:
    """Return how often anything false is ever said of 8 segments, where levels are equal and where segments rescale."""
    lines = ["Runs in which anything false is ever said of 8 segments, each of which moves by itself (bar 5%):\n"]
    lines.append(
        '| world | runs | false statement | "it depends" | each statement at 5% by itself |\n|---|---|---|---|---|'
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


def world_of(name: str) -> Segmented:
    """Return a world whose segments click more or less often, whatever they are shown."""
    rows, *others = WORLDS[name]
    scaled = [[rate * scale for rate in row] for row, scale in zip(rows, SCALES, strict=True)]
    return Segmented(list(zip(scaled, *others, strict=True)), name=name)


def regrets(runs: int = 60, horizon: int = 50_000) -> str:
    """Return what segments that agree cost, and what is gained where they differ: 4 segments of 6 x 6, or 4 x 4 x 4."""
    lines = [f"Regret after {horizon:,} visitors of 4 segments, {runs} runs (mean, standard error, 90% quantile):\n"]
    lines.append("| world | uts, segments ignored | segmented-uts | uts in each segment | to ignored | to separate |")
    lines.append("|---|---|---|---|---|---|")
    for name in WORLDS:
        found = []
        for policy in ("uts", "segmented-uts:segments=4", "segmented-uts:segments=4,apart=true"):
            study = simulate(world_of(name), policy, horizon, runs=runs, seed=1, checkpoints=1)
            found.append(np.array([run.regret[-1] for run in study.runs]))
        told = [f"{x.mean():,.0f} +- {x.std() / np.sqrt(runs):.0f} ({np.quantile(x, 0.9):,.0f})" for x in found]
        ignored, ours, separate = (x.mean() for x in found)
        lines.append(f"| {name} | {' | '.join(told)} | {ours / ignored:.2f} | {ours / separate:.2f} |")
    return "\n".join(lines)


def steps(turns: int = 6, horizon: int = 200_000) -> str:
    """Return what a step of segmented-uts costs, in times of one of uts on the same world: the least of some turns."""
    lines = ["| world | a step of segmented-uts, in times of uts (bar 2) |", "|---|---|"]
    for name in ("all agree", "two differ"):
        least = dict.fromkeys(("uts", "segmented-uts:segments=4"), float("inf"))
        for policy in [*least] * (turns + 1):  # the first turn compiles
            begin = time.process_time()
            one_run(world_of(name), policy, horizon, 1)
            least[policy] = min(least[policy], time.process_time() - begin)
        lines.append(f"| {name} | {least['segmented-uts:segments=4'] / least['uts']:.2f} |")
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
        decision = experiment.ask(context=SEGMENTS[visit % len(SEGMENTS)]) if say else experiment.ask()
        asking += time.process_time() - asked
        experiment.tell(decision, visit % 7 == 0)
    return asking, time.process_time() - begin
