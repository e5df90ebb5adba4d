"""Verdicts of live experiments, rehearsed: are they ever wrong, how long do they take, and what do they cost?

First, all levels are equal while the click rate of the whole site moves: whatever is stated is wrong. The promise is
at most 5% of all experiments, however long they run. Then a table over problems from 2 x 2 to 10 x 10: decisions until
the verdict at 0.05, clicks lost until then and at the end, against T* log 20 (`rankone.problems.theory.bounds`).
Last, whole experiments whose reports are read: near ties, pairs that are forbidden, a policy that draws nothing. What
leads must be the best estimate in its own table and allowed; winners and levels that are out are wrong in 5% at most.

Then late clicks (`late_clicks`) and the visitors still needed (`forecasts`).

``python -m benchmarks verdicts`` takes some minutes and writes benchmarks/measured/verdicts.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from loky import get_reusable_executor

import rankone
from benchmarks import forecasts, late_clicks
from benchmarks.site_movements import MOVEMENTS, movement
from rankone.problems.theory.time_to_be_sure import characteristic_time
from rankone.simulation.plans.rehearsal import Rehearsal, simulate_experiment

PAGE = Path(__file__).parent / "measured" / "verdicts.md"
WORKERS = 2

EQUAL_RATE, EQUAL_DECISIONS, EQUAL_RUNS = 0.4, 2_000, 400
SHAPES = ((2, 2), (4, 3))
# Who decides, with which aim. With "decide" all decisions explore until the verdict: there the policy makes none.
STATED = [(policy, aim) for policy in ("uts", "top-two", "uniform") for aim in ("earn", "both")] + [("uts", "decide")]

DECISIONS = 100_000
# Policies and aims of the table, and how often each is rehearsed.
PLAYED = {
    ("uts", "both"): 20,
    ("uts", "decide"): 20,
    ("uts", "earn"): 5,
    ("top-two", "both"): 5,
    ("top-two", "earn"): 5,
    ("uniform", "both"): 10,
    ("uniform", "earn"): 10,
    ("thompson", "both"): 5,
}

LIVE_RUNS = 400


class Live(NamedTuple):
    """A world in which reports of whole experiments are read, 100 visitors apart."""

    rows: Sequence[float]
    cols: Sequence[float]
    forbidden: tuple[int, int] | None = None
    site: float = 1.0  # times as many clicks after a quarter of the visitors
    settings: Mapping[str, Any] = {"policy": "uts", "aim": "decide"}
    visitors: int = 600


LIVE = {
    "3 x 3, near ties": Live((0.5, 0.45, 0.4), (0.5, 0.55, 0.4)),
    "4 x 3, all equal, the site doubles": Live((0.6,) * 4, (0.6,) * 3, site=2.0),
    "2 x 2, the best pair forbidden, the two next tie": Live((0.9, 0.45), (0.45, 0.9), (0, 1)),
    "2 x 2, the same, and half is left to the policy": Live(
        (0.9, 0.45), (0.45, 0.9), (0, 1), settings={"policy": "uts", "aim": "both"}
    ),
    "2 x 2, all equal, one pair forbidden, the site doubles": Live((0.6, 0.6), (0.6, 0.6), (0, 1), site=2.0),
    "2 x 2, the best pair forbidden": Live((0.9, 0.2), (0.6, 0.8), (0, 1), visitors=1_500),
    "4 x 3, `ucb1` with its half percent of chance": Live(
        (0.9, 0.5, 0.3, 0.2), (0.8, 0.4, 0.2), settings={"policy": "ucb1"}, visitors=1_500
    ),
    "2 x 2, all equal, `ucb1` alone, the site doubles": Live(
        (0.6, 0.6), (0.6, 0.6), site=2.0, settings={"policy": "ucb1", "explore": 0}, visitors=1_200
    ),
}


class Read(NamedTuple):
    """What the reports of one experiment said."""

    worse: bool  # something in the table was estimated at least 10% better than what leads, or that is forbidden
    far: bool  # in the end something leads that has at most 0.9 times the clicks of the best
    won: bool
    wrong: bool  # a pair won that another allowed one equals or beats
    out_wrongly: bool  # a level was out that is in an allowed pair that no other allowed one beats


def read_live(name: str, seed: int) -> Read:
    """Run one experiment of a world and read its reports."""
    world, luck = LIVE[name], np.random.default_rng([seed, 29])
    rates = np.outer(world.rows, world.cols)
    if world.forbidden is not None:
        rates[world.forbidden] = 0.0
    best, found = np.argwhere(rates == rates.max()), np.zeros(5, bool)
    names = [[f"{side}{number}" for number in range(size)] for side, size in zip("rc", rates.shape, strict=True)]
    with rankone.Experiment(name, *names, db=None, seed=seed, **world.settings) as live:
        if world.forbidden is not None:
            live.forbid(
                {factor: side[at] for factor, side, at in zip(("row", "col"), names, world.forbidden, strict=True)}
            )
        for at in range(0, world.visitors, 100):
            moved = world.site if at >= world.visitors / 4 else 1.0
            asked = live.ask(100)
            shown = [tuple(int(name[1:]) for name in one.levels.values()) for one in asked]
            live.tell_many(
                [(one, bool(luck.random() < moved * rates[at])) for one, at in zip(asked, shown, strict=True)]
            )
            report = live.report()
            leads = tuple(side.index(level) for side, level in zip(names, report.best.values(), strict=True))
            better = any((level.ratio or 0.0) >= 1.1 for factor in report.factors for level in factor.levels)
            out = [{at for at, level in enumerate(factor.levels) if not level.in_race} for factor in report.factors]
            found |= (
                report.leads and (better or leads == world.forbidden),
                at + 100 >= world.visitors and report.leads and rates[leads] <= 0.9 * rates.max(),
                report.decided,
                report.decided and (len(best) > 1 or leads != tuple(best[0])),
                any(row in out[0] or col in out[1] for row, col in best),
            )
    return Read(*found.tolist())


def live_reports(names: Iterable[str] = LIVE) -> str:
    """Write the table of what reports of whole experiments said."""
    lines = [
        f"A report every 100 visitors, {LIVE_RUNS} runs. Counted are runs with a leader that another level beat by 10% in",
        "the same report, or that was forbidden; with a last leader at least 10% below the best; with a winner; with a",
        "wrong winner (also one of two equals); with a level of a best pair out.",
        "",
        *_head(["world", "visitors", "leads wrongly", "leads, far behind", "winner", "wrong winner", "wrongly out"]),
    ]
    for name in names:
        found = list(get_reusable_executor(WORKERS).map(read_live, itertools.repeat(name, LIVE_RUNS), range(LIVE_RUNS)))
        counts = [sum(each[place] for each in found) for place in range(5)]
        lines.append(f"| {' | '.join([name, f'{LIVE[name].visitors:,}', *map(str, counts)])} |")
    return "\n".join(lines)


def _ratios(best: float, rows: Iterable[float], cols: Iterable[float]) -> rankone.RankOne:
    """A problem with this best pair; one change away from it the rate is so many times that."""
    side = math.sqrt(best)
    return rankone.RankOne([side, *(side * row for row in rows)], [side, *(side * col for col in cols)])


PROBLEMS = {
    "2 x 2, 2%, ratios .6": _ratios(0.02, [0.6], [0.6]),
    "2 x 2, 30%, ratios .8": _ratios(0.3, [0.8], [0.8]),
    "2 x 3, 72%, ratios .56": _ratios(0.72, [5 / 9], [5 / 9] * 2),
    "3 x 4, 5%, ratios .6": _ratios(0.05, [0.6] * 2, [0.6] * 3),
    "4 x 5, 15%, ratios .67": _ratios(0.15, [2 / 3] * 3, [2 / 3] * 4),
    "6 x 6, 5%, ratios .7": _ratios(0.05, [0.7] * 5, [0.7] * 5),
    "8 x 6, 56%, the README's demo": rankone.as_problem("needle:8x6"),
    "8 x 8, 63%, graded": rankone.RankOne(np.linspace(0.9, 0.3, 8), np.linspace(0.7, 0.2, 8)),
    "10 x 10, 20%, graded": _ratios(0.2, np.linspace(0.8, 0.4, 9), np.linspace(0.8, 0.4, 9)),
}


def wrong_statements(policy: str, aim: str, shape: tuple[int, int], site: str) -> tuple[int, int]:
    """Return in how many runs a winner was declared, and in how many a level was said to beat another."""
    equal = rankone.RankOne([math.sqrt(EQUAL_RATE)] * shape[0], [math.sqrt(EQUAL_RATE)] * shape[1])
    moves = movement(site, EQUAL_DECISIONS)
    found = [
        simulate_experiment(
            equal, policy=policy, aim=aim, site=moves, visitors=EQUAL_DECISIONS, after="weigh", runs=1, seed=seed
        )[0]
        for seed in range(EQUAL_RUNS)
    ]
    return sum(each.verdict is not None for each in found), sum(each.beaten_wrongly > 0 for each in found)


def equal_levels() -> str:
    """Write the table of what was stated although nothing was true."""
    cells = [(policy, aim, shape, site) for policy, aim in STATED for shape in SHAPES for site in MOVEMENTS]
    found = dict(
        zip(cells, get_reusable_executor(WORKERS).map(wrong_statements, *zip(*cells, strict=True)), strict=True)
    )
    won = max(winners for winners, _ in found.values())
    lines = [
        f"All levels equal, {EQUAL_RATE:.0%} clicks before the site moves, {EQUAL_DECISIONS:,} visitors, {EQUAL_RUNS} runs",
        f"each. Runs that called a level beaten; at most {won} runs of a cell declared a winner. Allowed: {EQUAL_RUNS // 20} runs.",
        "",
        *_head(["policy, aim", "size", *MOVEMENTS]),
    ]
    for policy, aim in STATED:
        for shape in SHAPES:
            counts = [str(found[policy, aim, shape, site][1]) for site in MOVEMENTS]
            lines.append(f"| {' | '.join([f'`{policy}`, {aim}', '{} x {}'.format(*shape), *counts])} |")
    worst = max(max(pair) for pair in found.values())
    lines += ["", f"The most in any of the {len(cells)} cells: {worst} runs of {EQUAL_RUNS}, {worst / EQUAL_RUNS:.1%}."]
    return "\n".join(lines)


def played(name: str, policy: str, aim: str) -> list[Rehearsal]:
    """Rehearse one cell of the table."""
    return simulate_experiment(PROBLEMS[name], policy=policy, aim=aim, visitors=DECISIONS, runs=PLAYED[policy, aim])


def alone(name: str) -> list[float]:
    """Return the clicks that `uts` loses alone, as in studies, in each of 20 runs."""
    study = rankone.simulate(PROBLEMS[name], ["uts"], horizon=DECISIONS, runs=20, workers=1)
    return [float(run.regret[-1]) for run in study.runs]


def duration() -> str:
    """Write the table of decisions and clicks until a verdict, and what it says about the aims."""
    executor = get_reusable_executor(WORKERS)
    cells = [(name, policy, aim) for name in PROBLEMS for policy, aim in PLAYED]
    rehearsed = executor.map(played, *zip(*cells, strict=True))
    alone_lost = dict(zip(PROBLEMS, executor.map(alone, PROBLEMS), strict=True))
    found = dict(zip(cells, rehearsed, strict=True))
    named = [f"`{policy}`, {aim}" for policy, aim in PLAYED]
    times, lost = _head(["problem", "T* log 20", *named]), _head(["problem", "`uts` alone", *named])
    for name, problem in PROBLEMS.items():
        runs = [found[name, policy, aim] for policy, aim in PLAYED]
        bound = f"{characteristic_time(problem) * math.log(20.0):,.0f}"
        until = [_count(_quantile(each, 0.5), _quantile(each, 0.9)) for each in runs]
        ends = [_mean([run.losses[-1] for run in each]) for each in runs]
        times.append(f"| {' | '.join([name, bound, *until])} |")
        lost.append(f"| {' | '.join([name, _mean(alone_lost[name]), *ends])} |")
    counts = ", ".join(map(str, PLAYED.values()))
    lines = [
        f"Visitors until the verdict, median; 90% ({counts} runs; none: too few had a verdict within {DECISIONS:,}):",
        *("", *times, "", f"Clicks lost after {DECISIONS:,} visitors:", "", *lost),
    ]
    wrong = sum(run.wrong for runs in found.values() for run in runs)
    total = sum(map(len, found.values()))
    lines += ["", f"Wrong winners in all these runs: {wrong} of {total:,}.", "", *_in_short(found, alone_lost)]
    return "\n".join(lines)


def _in_short(found: dict[tuple[str, str, str], list[Rehearsal]], alone_lost: dict[str, list[float]]) -> list[str]:
    """Say what the table means for the aims, on the median problem."""
    medians = {aim: [_quantile(found[name, "uts", aim], 0.5) for name in PROBLEMS] for aim in ("both", "decide")}
    bounds = [characteristic_time(problem) * math.log(20.0) for problem in PROBLEMS.values()]
    slower = np.divide(medians["both"], medians["decide"])
    said = [
        f'On the median problem "decide" takes {np.median(np.divide(medians["decide"], bounds)):.1f} times T* log 20, and '
        f'"both" {np.median(slower):.1f} times as long as "decide".'
    ]
    for aim in ("both", "earn"):
        ends = {name: np.mean([run.losses[-1] for run in found[name, "uts", aim]]) for name in PROBLEMS}
        times = [float(ends[name] / np.mean(alone_lost[name])) for name in PROBLEMS]
        said.append(
            f'"{aim}" loses {np.median(times):.2f} times the clicks of `uts` alone ({max(times):.2f} at worst).'
        )
    return said


def _quantile(runs: list[Rehearsal], share: float) -> float:
    """Return a quantile of the decisions until the verdict; infinite where too few runs had one."""
    verdicts = sorted(math.inf if run.verdict is None else float(run.verdict) for run in runs)
    return verdicts[min(len(verdicts) - 1, math.ceil(share * len(verdicts)) - 1)]


def _count(*values: float) -> str:
    return "; ".join(f"{value:,.0f}" if math.isfinite(value) else "none" for value in dict.fromkeys(values))


def _mean(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:,.0f}" if values else ""
    return f"{np.mean(values):,.0f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):,.0f}"


def _head(titles: Iterable[str]) -> list[str]:
    titles = list(titles)
    return [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]


def report() -> str:
    text = (
        f"{duration()}\n\n### If nothing is better\n\n{equal_levels()}\n\n"
        f"### What reports say on the way\n\n{live_reports()}"
        f"\n\n### If clicks come late\n\n{late_clicks.report()}\n\n### Visitors still needed\n\n{forecasts.report()}"
    )
    PAGE.write_text(f"{text}\n")
    return text
