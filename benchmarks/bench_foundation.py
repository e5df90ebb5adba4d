"""Speed of the foundation: elimination policies against the floor, start-up, compilation. Ratios, measured in one run.

The floor is a policy that always plays the same pair in the same loop (`FloorState`): what the loop itself costs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import rankone
from rankone.kernels.policy import decide, learn
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run


class FloorState(NamedTuple):
    """Nothing to remember."""

    nothing: np.ndarray


@decide.register(FloorState)
def _decide(state: FloorState, context: Any, rng: Any, shown: Any) -> int:
    shown[0] = shown[1] = 0
    return 0


@learn.register(FloorState)
def _learn(state: FloorState, shown: Any, tag: int, outcome: Any) -> None:
    pass


def steps_per_second(make_state, problem, steps: int, repeats: int = 5) -> float:
    """Median speed of the loop over some runs, compilation left out."""
    times = []
    for repeat in range(repeats + 1):
        state, rng = make_state(), generator(0, repeat)
        begin = time.perf_counter()
        play_run(state, problem, np.array([steps]), rng)
        times.append(time.perf_counter() - begin)
    return steps / median(times[1:])


def elimination() -> list[str]:
    """Elimination policies while they sweep (no pair settled: all lines tie) against the floor."""
    lines = ["| policy | 32x32, of the floor | 128x128, of the floor |", "|---|---|---|"]
    floors = {}
    for size in (32, 128):
        # All lines tie, so that nothing is ever eliminated and every step is a real decision.
        problem = rankone.RankOne([0.5] * size, [0.5] * size)
        floors[size] = problem, steps_per_second(lambda: FloorState(np.zeros(1)), problem, 5_000_000)
    for name in ("rank1elim-kl", "rank1elim", "ucb1-elim"):
        policy = rankone.as_policy(name).with_horizon(2_000_000)
        shares = [
            steps_per_second(lambda size=size, policy=policy: policy.start(size, size), problem, 2_000_000) / floor
            for size, (problem, floor) in floors.items()
        ]
        lines.append(f"| {name} | {shares[0]:.2f} | {shares[1]:.2f} |")
    lines.append(f"\nFloor: {floors[32][1] / 1e6:.0f} million steps a second. Bar: 0.1 of the floor.")
    return lines


def seconds_of(code: str, **environment: str) -> float:
    """Median wall time of a fresh Python that runs some code, over seven starts."""
    env = {**os.environ, **environment}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=env, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return median(times)


_COMPILE = """
import time, numpy as np, numba, rankone
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run
@numba.njit
def trivial(rng): return rng.random()
trivial(generator(0))
tiny = rankone.RankOne([0.5], [0.5])
def seconds(name):
    policy = rankone.as_policy(name).with_horizon(100).for_problem(0, 0)
    begin = time.process_time()
    play_run(policy.start(1, 1), tiny, np.array([1]), generator(0))
    return time.process_time() - begin
print(seconds("NAME"))
"""


def compilation() -> list[str]:
    """Processor time of each policy's first compile in a fresh process with an empty cache, then again from the cache."""
    lines = ["| policy, processor time | first compile, s | from the cache in a new process, s |", "|---|---|---|"]
    own = {name: kind for name, kind in rankone.known_policies().items() if kind.__module__.startswith("rankone.")}
    for name in sorted(
        name for name, kind in own.items() if kind.decision_kind != "list"
    ):  # not the plain twins that other benchmarks import
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "RANKONE_CACHE_DIR": cache}
            command = [sys.executable, "-c", _COMPILE.replace("NAME", name)]
            first, second = (
                float(subprocess.run(command, check=True, env=env, capture_output=True).stdout) for _ in range(2)
            )
        lines.append(f"| {name} | {first:.2f} | {second:.3f} |")
    lines.append(
        "\nNumba's own start (0.4-0.7 s the first time any compiled function runs) is left out. Bars: 3 s and 0.3 s."
    )
    return lines


def start_up() -> list[str]:
    """``import rankone`` and ``rankone --help`` over bare Python."""
    bare = seconds_of("pass")
    imported = seconds_of("import rankone") - bare
    helped = seconds_of("import sys; sys.argv = ['rankone', '--help']; from rankone.cli import main; main()") - bare
    return [
        "| over bare Python | seconds | bar |",
        "|---|---|---|",
        f"| import rankone | {imported:.3f} | 0.3 |",
        f"| rankone --help | {helped:.3f} | 0.5 |",
    ]


def report() -> str:
    """Return all figures as Markdown."""
    parts = {
        "Elimination policies against the floor": elimination,
        "Start-up": start_up,
        "Compilation": compilation,
    }
    return "\n\n".join(f"### {title}\n\n" + "\n".join(part()) for title, part in parts.items())
