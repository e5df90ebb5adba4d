"""Speed of the exact engine against plain twins that compute every pair's index, or draw its Beta, at every step.

The engine plays 2,000,000 steps from the start, and 20,000, as in a short study. The plain twin is far slower, so it plays only some steps, from the
counts the engine reached half way: there every pair has outcomes and the share of exploring steps is about the
average of the run. Both times are processor time of the same thread, compilation left out, and the better of some
repeats; a ratio compares figures of the same run.

To add a policy with a plain twin, add a line to `TWINS`.

Peers (`benchmarks/peers.py`) are timed on the same problem if the interpreter named by $RANKONE_PEERS_PYTHON, else this
one, can import them. An environment of their own serves best: ``python -m venv peers`` and ``peers/bin/pip install
SMPyBandits "scipy<1.15" pymab river mabwiser``; ``obp``, which lists are compared with too, did not build here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.oracles.naive_thompson import naive_thompson
from tests.oracles.naive_uts import naive_uts
from tests.oracles.plain_indices import plain_state

import rankone
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run

SIZES = [(32, 32), (64, 64), (128, 128), (10, 871)]
HORIZON, SHORT = 2_000_000, 20_000


class Twin(NamedTuple):
    """A policy of the package, how its plain twin continues from a state of it, and the ratios to reach."""

    policy: rankone.Policy
    plain: Callable[[Any, Any], Any]  # (policy, state) -> state of the plain twin with the same counts
    bars: dict[tuple[int, int], float]


_UCB1_BARS = {(32, 32): 40.0, (128, 128): 200.0, (10, 871): 200.0}
_KL_UCB_BARS = {(32, 32): 300.0, (128, 128): 1_000.0, (10, 871): 1_000.0}
TWINS = [
    Twin(rankone.UCB1(), plain_state, _UCB1_BARS),
    Twin(rankone.policies.KLUCB(), plain_state, _KL_UCB_BARS),
    Twin(rankone.policies.KLUCB(c=3.0), plain_state, _KL_UCB_BARS),
    Twin(rankone.UTS(), naive_uts, {(32, 32): 30.0, (128, 128): 90.0, (10, 871): 150.0}),
    Twin(rankone.Thompson(), naive_thompson, {(32, 32): 500.0, (128, 128): 2_000.0, (10, 871): 2_000.0}),
]


def seconds(state: Any, problem: rankone.RankOne, steps: int) -> float:
    """Processor time of so many steps from a state."""
    begin = time.process_time()
    play_run(state, problem, np.array([steps]), generator(1))
    return time.process_time() - begin


def engine_speed(policy: rankone.Policy, problem: rankone.RankOne, horizon: int = HORIZON) -> float:
    """Steps a second of the engine."""
    seconds(policy.start(2, 2), rankone.RankOne([0.5, 0.4], [0.5, 0.4]), 10)  # compiles
    return horizon / min(seconds(policy.start(problem.n_rows, problem.n_cols), problem, horizon) for _ in range(5))


def speeds(twin: Twin, problem: rankone.RankOne) -> tuple[float, float]:
    """Steps a second of the engine and of the plain twin."""
    engine = engine_speed(twin.policy, problem)
    half_way = twin.policy.start(problem.n_rows, problem.n_cols)
    seconds(half_way, problem, HORIZON // 2)
    plain_steps = max(20, 3_000_000 // (problem.n_rows * problem.n_cols))
    seconds(twin.plain(twin.policy, half_way), problem, 2)  # compiles
    plain = min(seconds(twin.plain(twin.policy, half_way), problem, plain_steps) for _ in range(3))
    return engine, plain_steps / plain


def twins() -> list[str]:
    """One table: millions of steps a second, ratio to the plain twin, and the bar where there is one."""
    lines = [
        "Needle problems (p = 0.25, gap = 0.5), n = 2,000,000: millions of steps a second (times the plain twin, bar).",
        "",
        "| policy | "
        + " | ".join(f"{rows}x{cols}" for rows, cols in SIZES)
        + " | 128x128 to 32x32 (bar 0.3, Thompson 0.1) |",
        "|---" * (len(SIZES) + 2) + "|",
    ]
    for twin in TWINS:
        found = {size: speeds(twin, rankone.needle(*size, p=0.25, gap=0.5)) for size in SIZES}
        cells = []
        for size, (engine, plain) in found.items():
            bar = f", bar {twin.bars[size]:,.0f}" if size in twin.bars else ""
            cells.append(f"{engine / 1e6:.0f} (x{engine / plain:,.0f}{bar})")
        flat = found[128, 128][0] / found[32, 32][0]
        lines.append(f"| {twin.policy.label} | " + " | ".join(cells) + f" | {flat:.2f} |")
    return lines


def short_runs() -> list[str]:
    """One table: millions of steps a second in runs so short that most steps explore."""
    lines = [
        f"The same problems, n = {SHORT:,}: millions of steps a second.",
        "",
        "| policy | " + " | ".join(f"{rows}x{cols}" for rows, cols in SIZES) + " |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for twin in TWINS:
        problems = [rankone.needle(*size, p=0.25, gap=0.5) for size in SIZES]
        cells = [f"{engine_speed(twin.policy, each, SHORT) / 1e6:.2g}" for each in problems]
        lines.append(f"| {twin.policy.label} | " + " | ".join(cells) + " |")
    return lines


def asked_peers(*sizes: int) -> tuple[dict[str, dict[str, float]], str]:
    """Return the speeds of other libraries, by library with its version and by policy, and which are left out."""
    python = os.environ.get("RANKONE_PEERS_PYTHON", sys.executable)
    script = Path(__file__).with_name("peers.py")
    asked = [python, script, *map(str, sizes)]
    found = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    here = {f"{peer} {figures['version']}": figures["speeds"] for peer, figures in found.items() if "speeds" in figures}
    absent = [f"{peer} is left out: {figures['missing']}." for peer, figures in found.items() if "missing" in figures]
    return here, " ".join(absent)


def against_peers(here: dict[str, dict[str, float]], name: str, ours: float) -> list[str]:
    """Return a cell for each library: its speed, and how many times that rankone plays."""
    return [
        f"{figures[name]:,.0f} (rankone x{ours / figures[name]:,.0f})" if name in figures else "has none"
        for figures in here.values()
    ]


def peers() -> list[str]:
    """Steps a second of other libraries on the smallest problem, and how many times that rankone plays."""
    here, absent = asked_peers(SIZES[0][0])
    if not here:
        return ["No peers: " + absent]
    lines = ["| 32x32, steps a second | rankone | " + " | ".join(here) + " |", "|---" * (len(here) + 2) + "|"]
    problem = rankone.needle(*SIZES[0], p=0.25, gap=0.5)
    for name in ("ucb1", "kl-ucb", "thompson"):
        ours = engine_speed(rankone.as_policy(name), problem)
        lines.append(f"| {name} | {ours:,.0f} | " + " | ".join(against_peers(here, name, ours)) + " |")
    lines += ["", "No peer has a policy that uses the structure (`uts`, `rank1elim-kl`, ...). " + absent]
    return lines


def report() -> str:
    """Return all figures as Markdown."""
    return "\n".join([*twins(), "", *short_runs(), "", "### Other libraries", "", *peers()])
