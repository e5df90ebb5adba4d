"""Deciding at the edge: what it costs to decide by weights that are renewed every so often, and whether verdicts hold.

`python -m benchmarks edge` takes 15 minutes. Regret of the policy `edge` beside that of `uts`, which learns each outcome
at once; false statements of 400 experiments whose levels tie, in sites that move; how fast exposures are taken in.
`python -m benchmarks.bench_edge regret` runs one part (`regret`, `moving`, `verdicts`, `ingest`).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankone

HORIZON, RUNS = 1_000_000, 100


def _product(name: str, *factors: Any) -> rankone.Product:
    return rankone.Product({f"factor {index}": list(each) for index, each in enumerate(factors)}, name=name)


PROBLEMS = {
    "needle 8x6": rankone.needle(8, 6),
    "random 4x5": _product("random 4x5", [0.1, 0.09, 0.075, 0.055], [1, 0.9, 0.8, 0.7, 0.55]),
    "3x3x2": _product("3x3x2", [0.02, 0.018, 0.016], [1, 0.85, 0.7], [1, 0.9]),
    "10x10": _product("10x10", np.linspace(0.05, 0.02, 10), [1, 0.995, 0.99, 0.9, 0.85, 0.75, 0.7, 0.6, 0.55, 0.5]),
    "near-tie 2x2": _product("near-tie 2x2", [0.05, 0.0475], [1, 0.95]),
}
# The most that was measured elsewhere, plus two standard errors: of the ratio to uts, of regret to the first batch.
TO_UTS = {"random 4x5": (1.25, 1.3), "3x3x2": (1.2, 1.25), "10x10": (1.0, 1.0), "near-tie 2x2": (1.3, 1.6)}
TO_BATCH = {"needle 8x6": 1.05, "random 4x5": 1.1, "3x3x2": 1.25, "10x10": 1.25, "near-tie 2x2": 1.8}
LENGTHS = (10, 1_000, 100_000)
FIGURES = Path(__file__).parent / "measured" / "edge.csv"


def first_batch(problem: Any, length: int) -> float:
    """Return what an even lottery loses in its first version: nobody can avoid that."""
    rates = problem.means if isinstance(problem, rankone.Product) else np.outer(problem.rows, problem.cols)
    return length * float(problem.best_mean - np.mean(rates))


def _runs(problem: Any, policy: str, runs: int) -> np.ndarray:
    """Return the regret of each run at 100,000 decisions and at the end, (runs, 2)."""
    study = rankone.simulate(problem, policy, HORIZON, runs=runs, seed=38, checkpoints=10, workers=1)
    return np.array([run.regret[[0, -1]] for run in study.runs])


def _ratio(own: np.ndarray, base: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means with its standard error."""
    ratio = own.mean() / base.mean()
    errors = [each.std(ddof=1) / math.sqrt(len(each)) / each.mean() for each in (own, base)]
    return float(ratio), float(ratio * math.hypot(*errors))


def _verdict(ratio: float, error: float, band: float) -> str:
    """Say whether a measured ratio is within its band, or above it by no more than chance explains."""
    if ratio <= band:
        return "yes"
    return "within its error" if ratio - 2.0 * error <= band else "**no**"


def regret() -> list[str]:
    """Regret of `edge` against `uts`, which learns at once, and against its own first version."""
    lines = ["| problem | policy | 100,000 | 1,000,000 | band | held |", "|---|---|---|---|---|---|"]
    figures = []
    for name, problem in PROBLEMS.items():
        base = _runs(problem, "uts", RUNS)
        means = [f"{each.mean():,.0f} ± {each.std(ddof=1) / math.sqrt(RUNS):,.0f}" for each in base.T]
        lines.append(f"| {name} | `uts`, at once | {means[0]} | {means[1]} | | |")
        for length in LENGTHS:
            own, batch = _runs(problem, f"edge:every={length}", RUNS), first_batch(problem, length)
            each = [_ratio(own[:, at], base[:, at]) for at in (0, 1)]
            band, held = "", ""
            if length == 1_000 and name in TO_UTS:
                band = " / ".join(f"{most} × uts" for most in TO_UTS[name])
                held = " / ".join(_verdict(*one, most) for one, most in zip(each, TO_UTS[name], strict=True))
            elif length == 100_000 or (name not in TO_UTS and length == 1_000):
                most = TO_BATCH[name] if length == 100_000 else 1.3
                ratio = float(own[:, 1].mean() / batch)
                band = f"{most} × first version"
                held = f"{ratio:.2f}: " + _verdict(ratio, own[:, 1].std(ddof=1) / math.sqrt(RUNS) / batch, most)
            cells = [f"{ratio:.2f} ± {error:.2f}" for ratio, error in each]
            lines.append(
                f"| {name} | `edge`, {length:,} decisions a version | {cells[0]} | {cells[1]} | {band} | {held} |"
            )
            figures.append({"problem": name, "decisions of a version": length, "ratio": each[1][0]})
    pl.DataFrame(figures).write_csv(FIGURES)
    return lines


def report() -> str:
    """Return tables for a page."""
    return "\n\n".join("\n".join(part()) for part in PARTS.values())


PARTS = {"regret": regret}

if __name__ == "__main__":
    print("\n".join(PARTS[sys.argv[1]]()))
