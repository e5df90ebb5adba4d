"""The README's figure for a page of many parts: which part of the best possible clicks a policy gets.

Four factors of four levels, 256 combinations, random log effects of 0.3 (standard deviation), the best combination
clicked 5% of the time, 50,000 visitors: twenty such problems, each played `RUNS` times. The standard error is that of
the mean over problems, which differ more than runs do.
"""

from __future__ import annotations

import numpy as np

import rankone
from rankone.simulation.arena_problems import effects

POLICIES = ("uts", "per-factor", "thompson", "uniform")
PROBLEMS, RUNS, VISITORS, BEST = 20, 5, 50_000, 0.05


def shares() -> dict[str, np.ndarray]:
    """Return for each policy the part of the best possible clicks, one number a problem."""
    problems = [effects([4, 4, 4, 4], seed, BEST) for seed in range(100, 100 + PROBLEMS)]
    found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for problem in problems:
        study = rankone.simulate(problem, list(POLICIES), horizon=VISITORS, runs=RUNS, seed=5, workers=1)
        for row in study.summary().iter_rows(named=True):
            found[row["policy"]].append(1.0 - row["regret_mean"] / (VISITORS * BEST))
    return {policy: np.array(each) for policy, each in found.items()}


def report() -> str:
    """One row a policy, in Markdown."""
    head = (
        f"256 combinations, the best clicked {BEST:.0%}, {VISITORS:,} visitors; {PROBLEMS} problems, {RUNS} runs each:"
    )
    lines = [head, "", "| policy | of the best possible clicks | least of the problems |", "|---|---|---|"]
    for policy, each in shares().items():
        error = each.std(ddof=1) / np.sqrt(len(each))
        lines.append(f"| `{policy}` | {each.mean():.1%} ± {error:.1%} | {each.min():.1%} |")
    return "\n".join(lines)
