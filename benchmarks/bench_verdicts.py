"""Verdicts of live experiments, rehearsed: are they ever wrong, how long do they take, and what do they cost?

First, all levels are equal while the click rate of the whole site moves: whatever is stated is wrong. The promise is
at most 5 % of all experiments, however long they run. Then a table over problems from 2 x 2 to 10 x 10: decisions until
the verdict at 0.05, clicks lost until then and at the end, against T* log 20 (`rankone.problems.characteristic_time`).

``python -m benchmarks verdicts`` takes some minutes and writes docs/verdicts-measured.md anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from loky import get_reusable_executor

import rankone
from rankone.problems import characteristic_time
from rankone.simulation.movements import MOVEMENTS
from rankone.simulation.rehearsal import Rehearsal, rehearse

PAGE = Path(__file__).parents[1] / "docs" / "verdicts-measured.md"
BEGIN, END = "<!-- written by python -m benchmarks verdicts -->\n", "<!-- end of what is written -->\n"
WORKERS = 2

EQUAL_RATE, EQUAL_DECISIONS, EQUAL_RUNS = 0.4, 2_000, 400
SHAPES = ((2, 2), (4, 3))
# Who decides, with which goal. With "decide" all decisions explore until the verdict: there the policy makes none.
STATED = [(policy, goal) for policy in ("uts", "top-two", "uniform") for goal in ("earn", "both")] + [("uts", "decide")]

DECISIONS = 100_000
# Policies and goals of the table, and how often each is rehearsed.
PLAYED = {
    ("uts", "both"): 20, ("uts", "decide"): 20, ("uts", "earn"): 5, ("top-two", "both"): 5, ("top-two", "earn"): 5,
    ("uniform", "both"): 10, ("uniform", "earn"): 10, ("thompson", "both"): 5,
}  # fmt: skip


def _ratios(best: float, rows: Iterable[float], cols: Iterable[float]) -> rankone.RankOne:
    """A problem with this best pair; one change away from it the rate is so many times that."""
    side = math.sqrt(best)
    return rankone.RankOne([side, *(side * row for row in rows)], [side, *(side * col for col in cols)])


PROBLEMS = {
    "2 x 2, 2 %, ratios .6": _ratios(0.02, [0.6], [0.6]),
    "2 x 2, 30 %, ratios .8": _ratios(0.3, [0.8], [0.8]),
    "2 x 3, 72 %, ratios .56": _ratios(0.72, [5 / 9], [5 / 9] * 2),
    "3 x 4, 5 %, ratios .6": _ratios(0.05, [0.6] * 2, [0.6] * 3),
    "4 x 5, 15 %, ratios .67": _ratios(0.15, [2 / 3] * 3, [2 / 3] * 4),
    "6 x 6, 5 %, ratios .7": _ratios(0.05, [0.7] * 5, [0.7] * 5),
    "8 x 6, 56 %, the README's demo": rankone.as_problem("needle:8x6"),
    "8 x 8, 63 %, graded": rankone.RankOne(np.linspace(0.9, 0.3, 8), np.linspace(0.7, 0.2, 8)),
    "10 x 10, 20 %, graded": _ratios(0.2, np.linspace(0.8, 0.4, 9), np.linspace(0.8, 0.4, 9)),
}


def wrong_statements(policy: str, goal: str, shape: tuple[int, int], site: str) -> tuple[int, int]:
    """Return in how many runs a winner was declared, and in how many a level was said to beat another."""
    equal = rankone.RankOne([math.sqrt(EQUAL_RATE)] * shape[0], [math.sqrt(EQUAL_RATE)] * shape[1])
    found = [
        rehearse(equal, policy=policy, goal=goal, site=site, visitors=EQUAL_DECISIONS, after="weigh", runs=1, seed=seed)[0]
        for seed in range(EQUAL_RUNS)
    ]  # fmt: skip
    return sum(each.verdict is not None for each in found), sum(each.beaten_wrongly > 0 for each in found)


def equal_levels() -> str:
    """Write the table of what was stated although nothing was true."""
    cells = [(policy, goal, shape, site) for policy, goal in STATED for shape in SHAPES for site in MOVEMENTS]
    found = dict(
        zip(cells, get_reusable_executor(WORKERS).map(wrong_statements, *zip(*cells, strict=True)), strict=True)
    )
    lines = [
        f"All levels equal, {EQUAL_RATE:.0%} clicks before the site moves, {EQUAL_DECISIONS:,} decisions, {EQUAL_RUNS} runs",
        f"each: runs that declared a winner / that called a level beaten. The promise is 5 %, {EQUAL_RUNS // 20} runs.",
        "",
        *_head(["policy, goal", "size", *MOVEMENTS]),
    ]
    for policy, goal in STATED:
        for shape in SHAPES:
            counts = [found[policy, goal, shape, site] for site in MOVEMENTS]
            row = [f"`{policy}`, {goal}", "{} x {}".format(*shape), *(f"{won} / {beaten}" for won, beaten in counts)]
            lines.append(f"| {' | '.join(row)} |")
    worst = max(max(pair) for pair in found.values())
    lines += ["", f"The most in any of the {len(cells)} cells: {worst} runs of {EQUAL_RUNS}, {worst / EQUAL_RUNS:.1%}."]
    return "\n".join(lines)


def played(name: str, policy: str, goal: str) -> list[Rehearsal]:
    """Rehearse one cell of the table."""
    return rehearse(PROBLEMS[name], policy=policy, goal=goal, visitors=DECISIONS, runs=PLAYED[policy, goal])


def alone(name: str) -> list[float]:
    """Return the clicks that `uts` loses alone, as in studies, in each of 20 runs."""
    study = rankone.simulate(PROBLEMS[name], ["uts"], horizon=DECISIONS, runs=20, workers=1)
    return [float(run.regret[-1]) for run in study.runs]


def duration() -> str:
    """Write the table of decisions and clicks until a verdict, and what it says about the goals."""
    executor = get_reusable_executor(WORKERS)
    cells = [(name, policy, goal) for name in PROBLEMS for policy, goal in PLAYED]
    rehearsed = executor.map(played, *zip(*cells, strict=True))
    alone_lost = dict(zip(PROBLEMS, executor.map(alone, PROBLEMS), strict=True))
    found = dict(zip(cells, rehearsed, strict=True))
    titles = [
        "problem",
        "T* log 20",
        "policy, goal",
        "verdict: median",
        "90 %",
        "times T* log 20",
        "lost at the verdict",
    ]
    lines = _head([*titles, f"lost at {DECISIONS:,}", "times `uts` alone"])
    for name, problem in PROBLEMS.items():
        bound, least = characteristic_time(problem) * math.log(20.0), float(np.mean(alone_lost[name]))
        head = [name, f"{bound:,.0f}"]
        for policy, goal in PLAYED:
            runs = found[name, policy, goal]
            median, late = _quantile(runs, 0.5), _quantile(runs, 0.9)
            times = f"{median / bound:.1f}" if math.isfinite(median) else ""
            ends = [run.losses[-1] for run in runs]
            at_verdict = _mean([run.lost for run in runs if run.verdict is not None])
            figures = [_count(median), _count(late), times, at_verdict, _mean(ends), f"{np.mean(ends) / least:.2f}"]
            lines.append(f"| {' | '.join([*head, f'`{policy}`, {goal}', *figures])} |")
            head = ["", ""]
        lines.append(f"| | | `uts` alone | | | | | {_mean(alone_lost[name])} | 1 |")
    wrong = sum(run.wrong for runs in found.values() for run in runs)
    total = sum(map(len, found.values()))
    lines += ["", f"Wrong winners in all these rehearsals: {wrong} of {total:,}.", "", *_in_short(found, alone_lost)]
    return "\n".join(lines)


def _in_short(found: dict[tuple[str, str, str], list[Rehearsal]], alone_lost: dict[str, list[float]]) -> list[str]:
    """Say what the table means for the goals, on the median problem."""
    medians = {goal: [_quantile(found[name, "uts", goal], 0.5) for name in PROBLEMS] for goal in ("both", "decide")}
    bounds = [characteristic_time(problem) * math.log(20.0) for problem in PROBLEMS.values()]
    slower = np.divide(medians["both"], medians["decide"])
    said = [
        f'* "decide" takes {np.median(np.divide(medians["decide"], bounds)):.1f} times T* log 20 on the median problem.'
    ]
    said.append(f'* "both" takes {np.median(slower):.1f} times as many decisions as "decide" on the median problem.')
    for goal in ("both", "earn"):
        ends = {name: np.mean([run.losses[-1] for run in found[name, "uts", goal]]) for name in PROBLEMS}
        times = [float(ends[name] / np.mean(alone_lost[name])) for name in PROBLEMS]
        most = list(PROBLEMS)[int(np.argmax(times))]
        said.append(
            f'* "{goal}" has lost {np.median(times):.2f} times the clicks of `uts` alone after {DECISIONS:,} decisions on '
            f"the median problem, {max(times):.2f} times on the worst ({most})."
        )
    return said


def _quantile(runs: list[Rehearsal], share: float) -> float:
    """Return a quantile of the decisions until the verdict; infinite where too few runs had one."""
    verdicts = sorted(math.inf if run.verdict is None else float(run.verdict) for run in runs)
    return verdicts[min(len(verdicts) - 1, math.ceil(share * len(verdicts)) - 1)]


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "none"


def _mean(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:,.0f}" if values else ""
    return f"{np.mean(values):,.0f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):,.0f}"


def _head(titles: Iterable[str]) -> list[str]:
    titles = list(titles)
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]


def report() -> str:
    runs = ", ".join(f"`{policy}` {goal} {count}" for (policy, goal), count in PLAYED.items())
    text = (
        f'{duration()}\n\nRuns of each problem: {runs}; means ± standard error. "none": fewer than so many runs had a '
        f"verdict within {DECISIONS:,} decisions.\n\n### If nothing is better\n\n{equal_levels()}"
    )
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + text + "\n\n" + END + rest.partition(END)[2])
    return text
