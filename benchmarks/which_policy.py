"""The table of docs/which-policy.md: ``python -m benchmarks.which_policy [--runs 4]`` plays and writes it anew.

Three parts, a few minutes of CPU together:

* the report half of the arena (11 problems: 2 x 2 to 10 x 800, click rates from 0.0004 to 0.81, wide gaps and near
  ties), with outcomes at once, late and in batches: regret as a multiple of the lower bound C(u, v) log n,
* synchronisation points, and the cost of a decision on the largest square problem as a multiple of that of uts,
* worlds that are not rank 1: what share of the clicks that a random pair would lose the policy loses.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import rankone
from rankone.numerics.seeds import generator
from rankone.policies.rehearsal import Schedule, rehearse

PAGE = Path(__file__).parents[1] / "docs" / "which-policy.md"
BEGIN, END = "<!-- written by python -m benchmarks.which_policy -->\n", "<!-- end of what is written -->\n"
POLICIES = (
    "uts", "challengers", "imed-ub", "osub", "thompson", "kl-ucb", "ucb1",
    "rank1elim-kl-anytime:c=0", "rank1elim-kl:c=0", "rank1elim-kl", "uniform",
)  # fmt: skip
FEEDBACK = {
    "at once": "immediate",
    "late, by 1,000 on average": "delay:mean=1000",
    "batches of 1,000": "batch:size=1000",
    "batches of 10,000": "batch:size=10000",
}
TIMED_ON = "needle-64"
SIDE, DECISIONS = 8, 20_000


def other_worlds() -> dict[str, np.ndarray]:
    """Tables of click rates that are no product."""
    lines = np.linspace(0.9, 0.2, SIDE)
    exception = np.outer(lines, lines)
    exception[-1, -1] = 0.95
    return {
        "sum": (lines[:, None] + lines) / 2.0,  # the best row is best in every column
        "exception": exception,  # rank 1, but the worst row and column make the best pair
        "matches": 0.2 + np.diag(np.linspace(0.6, 0.3, SIDE)),  # each row has its own column
    }


def lost_elsewhere(name: str, runs: int) -> dict[str, float]:
    """Regret in each of the other worlds as a share of a random pair's."""
    schedule, lost = Schedule.at_once(DECISIONS), {}
    for world, rates in other_worlds().items():
        policy = rankone.policy(name).with_horizon(DECISIONS)
        shares = [
            (rates.max() * DECISIONS - (rehearse(policy, rates, schedule, generator(run, name, world))[0] * rates).sum())
            / (DECISIONS * (rates.max() - rates.mean()))
            for run in range(runs)
        ]  # fmt: skip
        lost[world] = float(np.mean(shares))
    return lost


def measured(runs: int, workers: int | None) -> pl.DataFrame:
    """Return a line per policy with all columns of the page's table, the least regret first."""
    columns: dict[str, pl.DataFrame] = {}
    for title, feedback in FEEDBACK.items():
        columns[title] = rankone.arena(POLICIES, half="report", runs=runs, workers=workers, feedback=feedback).table
    at_once = columns["at once"]
    seconds = dict(at_once.filter(pl.col("problem") == TIMED_ON).select("policy", "seconds").iter_rows())
    lines = []
    for name in POLICIES:
        line: dict[str, object] = {"policy": name}
        for title, table in columns.items():
            own = table.filter(pl.col("policy") == name)
            line[title] = own.select(pl.col("times_bound").log().mean().exp()).item()
        own = at_once.filter(pl.col("policy") == name)
        line["sync points"] = own.select((pl.col("sync_points") + 1).log().mean().exp() - 1).item()
        line["cost"] = seconds[name] / seconds["uts"]
        lines.append(line | lost_elsewhere(name, 2 * runs))
    return pl.DataFrame(lines).sort("at once")


def markdown(table: pl.DataFrame, runs: int) -> str:
    """Write the table as the page shows it."""
    worlds = list(other_worlds())
    titles = ["policy", *FEEDBACK, "synchronisation points", "cost of a decision", *(f"lost: {w}" for w in worlds)]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for row in table.iter_rows(named=True):
        regret = [_short(row[title]) for title in FEEDBACK]
        rest = [f"{row['sync points']:,.0f}", _short(row["cost"]), *(f"{row[world]:.0%}" for world in worlds)]
        lines.append(f"| `{row['policy']}` | {' | '.join([*regret, *rest])} |")
    return "\n".join([*lines, "", f"{runs} runs a problem, {2 * runs} a world that is not rank 1, seed 0."]) + "\n"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=None)
    chosen = parser.parse_args()
    text = markdown(measured(chosen.runs, chosen.workers), chosen.runs)
    print(text)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
