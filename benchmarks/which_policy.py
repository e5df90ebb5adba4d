"""The tables "Policies for pairs" of docs/measured.md: ``python -m benchmarks.which_policy [--runs 20]`` plays and writes them.

Three parts, some minutes together:

* the report half of the arena (11 problems: 2 x 2 to 10 x 800, click rates from 0.0004 to 0.81, wide gaps and near
  ties), with outcomes at once, late and in batches: regret as a multiple of the lower bound C(u, v) log n,
* synchronisation points, and the cost of a decision on the largest square problem as a multiple of that of uts,
* worlds that are not rank 1: what share of the clicks that a random pair would lose the policy loses.

``python -m benchmarks.which_policy --worlds`` plays and writes only the table of worlds that are not rank 1, that change,
or whose visitors are of several segments: the same share there, for more policies. A few minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import rankone
from benchmarks.changing_worlds import one_run
from rankone.problems import Problem
from rankone.problems.segmented import Segmented

PAGES = Path(__file__).parent / "measured"
POLICIES = (
    "uts",
    "imed-ub",
    "osub",
    "thompson",
    "kl-ucb",
    "ucb1",
    "rank1elim-kl:c=0",
    "rank1elim-kl",
    "uniform",
)
# Made for worlds that are no product, change, or have segments; the last five are references for any table that changes.
OF_OTHER_WORLDS = (
    "insured-uts",
    "glr-uts",
    "segmented-uts:segments=4",
    "discounted-uts",
    "sliding-uts",
    "glr-kl-ucb",
    "m-ucb",
    "cusum-ucb",
    "d-ts",
    "sw-ts",
)
FEEDBACK = {
    "at once": "immediate",
    "late, by 1,000 on average": "delay:mean=1000",
    "batches of 1,000": "batch:size=1000",
    "batches of 10,000": "batch:size=10000",
}
SHOWN_BY_PROBLEM = ("uts", "thompson", "ucb1", "rank1elim-kl:c=0", "uniform")
TIMED_ON, TIMED_RUNS = "needle:64x64", 6
SIDE, DECISIONS = 8, 20_000
LINES = np.linspace(0.9, 0.2, SIDE)  # what rows, and columns, are worth
OFTEN = (1.0, 0.8, 0.6, 0.9)  # how often visitors of each segment click, compared with the first


def other_worlds() -> dict[str, np.ndarray]:
    """Tables of click rates that are no product."""
    exception = np.outer(LINES, LINES)
    exception[-1, -1] = 0.95
    return {
        "sum": (LINES[:, None] + LINES) / 2.0,  # the best row is best in every column
        "exception": exception,  # rank 1, but the worst row and column make the best pair
        "matches": 0.2 + np.diag(np.linspace(0.6, 0.3, SIDE)),  # each row has its own column
    }


def lost_elsewhere(name: str, runs: int) -> dict[str, float]:
    """Regret in each of the other worlds as a share of a random pair's."""
    lost = {}
    for title, rates in other_worlds().items():
        regrets = [one_run(rankone.Means(rates, name=title), name, DECISIONS, run)[0] for run in range(runs)]
        lost[title] = float(np.mean(regrets) / (DECISIONS * (rates.max() - rates.mean())))
    return lost


def worlds(runs: int) -> str:
    """Return the table of worlds that are no single product: lost clicks as a share of what random pairs lose."""
    found: dict[str, Problem] = {name: rankone.Means(rates, name=name) for name, rates in other_worlds().items()}
    found |= {
        "3 changes": rankone.as_problem(f"random:8x8:low=0.3,seed=1|changes=3,span={DECISIONS}"),
        "days, ±60%": rankone.as_problem("random:8x8:low=0.3,seed=1|daily=0.6,day=2000"),
        "4 segments, alike": Segmented([[LINES * often, LINES] for often in OFTEN]),
        "2 of 4 segments differ": Segmented(
            [[(LINES if place < 2 else LINES[::-1]) * often, LINES] for place, often in enumerate(OFTEN)]
        ),
    }
    losses: dict[str, list[float]] = {}
    for name in (*OF_OTHER_WORLDS, *POLICIES):
        each = [np.mean([one_run(world, name, DECISIONS, run)[0] for run in range(runs)]) for world in found.values()]
        losses[name] = [float(mean) for mean in each]
    lines = _head(["policy", *(f"lost: {world}" for world in found)])
    for name, each in losses.items():
        shares = [f"{loss / by_chance:.0%}" for loss, by_chance in zip(each, losses["uniform"], strict=True)]
        lines.append(f"| `{name}` | {' | '.join(shares)} |")
    return "\n".join([*lines, "", f"{runs} runs of {DECISIONS:,} decisions each on 8 x 8 pairs, seed 0.", ""])


def played(runs: int, workers: int | None) -> dict[str, pl.DataFrame]:
    """Return the arena's table for each way in which outcomes come."""
    return {
        title: rankone.arena(policies=POLICIES, half="report", runs=runs, workers=workers, feedback=feedback).table
        for title, feedback in FEEDBACK.items()
    }


def fastest() -> dict[str, float]:
    """Return the seconds of each policy's fastest run, with no other beside it."""
    study = rankone.simulate(TIMED_ON, POLICIES, horizon=200_000, runs=TIMED_RUNS, workers=1)
    return {name: min(run.seconds for run in study.only([name]).runs) for name in POLICIES}


def summary(arenas: dict[str, pl.DataFrame], runs: int) -> pl.DataFrame:
    """Return a line per policy with all columns of the page's first table, the least regret first."""
    at_once = arenas["at once"]
    seconds = fastest()
    lines = []
    for name in POLICIES:
        line: dict[str, object] = {"policy": name}
        for title, table in arenas.items():
            own = table.filter(pl.col("policy") == name)
            mean = own.select(pl.col("times_bound").log().mean().exp()).item()
            noise = own.select((pl.col("regret_se") / pl.col("regret_mean")).pow(2).sum().sqrt() / pl.len()).item()
            line |= {title: mean, f"{title}, se": mean * noise}
        own = at_once.filter(pl.col("policy") == name)
        line["sync points"] = own.select((pl.col("sync_points") + 1).log().mean().exp() - 1).item()
        line["cost"] = seconds[name] / seconds["uts"]
        lines.append(line | lost_elsewhere(name, 2 * runs))
    return pl.DataFrame(lines).sort("at once")


def markdown(arenas: dict[str, pl.DataFrame], runs: int) -> str:
    """Write both tables as the page shows them."""
    worlds = list(other_worlds())
    titles = ["policy", *FEEDBACK, "synchronisation points", "cost of a decision", *(f"lost: {w}" for w in worlds)]
    lines = _head(titles)
    for row in summary(arenas, runs).iter_rows(named=True):
        regret = [_short(row[title], row[f"{title}, se"]) for title in FEEDBACK]
        cost = f"{row['cost']:.1f}" if row["cost"] < 9.95 else f"{row['cost']:,.0f}"
        rest = [f"{row['sync points']:,.0f}", cost, *(f"{row[world]:.0%}" for world in worlds)]
        lines.append(f"| `{row['policy']}` | {' | '.join([*regret, *rest])} |")
    lines += [
        "",
        f"{runs} runs per problem, {2 * runs} per world that is not rank 1, seed 0; mean ± standard error.",
        "",
    ]
    lines += ["Problem by problem, with outcomes at once:", ""]
    lines += _head(["problem", "decisions", *(f"`{name}`" for name in SHOWN_BY_PROBLEM)])
    table = arenas["at once"]
    for (name,), own in table.group_by("problem", maintain_order=True):
        by_policy = {row["policy"]: row for row in own.iter_rows(named=True)}
        cells = []
        for shown in SHOWN_BY_PROBLEM:
            row = by_policy[shown]
            cells.append(_short(row["times_bound"], row["times_bound"] * row["regret_se"] / row["regret_mean"]))
        lines.append(f"| {name} | {own['horizon'][0]:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _head(titles: list[str]) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]


def _short(value: float, error: float) -> str:
    digits = 2 if value < 9.95 else 1 if value < 99.5 else 0
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--worlds", action="store_true", help="only the table of worlds that change or are not rank 1")
    chosen = parser.parse_args()
    if chosen.worlds:
        (PAGES / "worlds.md").write_text(worlds(chosen.runs))
        return
    text = markdown(played(chosen.runs, chosen.workers), chosen.runs)
    print(text)
    (PAGES / "policies.md").write_text(text)


if __name__ == "__main__":
    main()
