"""Levels that seem to act together in a live experiment: how often where none do, and how often where two do.

The p-value of `rankone.serving.interactions` should hold whatever the click rate of the whole site does: so it stays, goes
up and down, rises, or doubles for good. It needs levels that keep their ratios: so here they do not, too.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
from tests.serving.together_worlds import allowance, counted, drifting, scattering, struck

import rankone
from rankone.numerics.seeds import generator
from rankone.serving.interactions import Acting, strongest
from rankone.simulation.rehearsal import Rehearsal, rehearse

RUNS, VISITORS = 100, 20_000
PROBLEMS = {
    "4 x 3 x 2": rankone.Product({"a": [0.3, 0.25, 0.2, 0.2], "b": [0.5, 0.4, 0.35], "c": [0.5, 0.4]}),
    "2 x 2 x 2": rankone.Product({"a": [0.5, 0.4], "b": [0.5, 0.45], "c": [0.6, 0.5]}),
    "4 x 4 x 4 x 4": rankone.Product({name: [0.6, 0.5, 0.45, 0.4] for name in "abcd"}),
}
WAYS = (("uts", "earn"), ("uts", "both"), ("uts", "decide"), ("thompson", "earn"), ("uniform", "earn"))
SITES = ("steady", "cycle", "trend", "doubled")
PLANTED = {"a": [0.5, 0.45], "b": [0.5, 0.45, 0.4], "c": [0.6, 0.5]}


def _struck(each: Rehearsal) -> Acting | None:
    """Return what a report would name, None: nothing."""
    living = [np.arange(first, end) for first, end in itertools.pairwise(each.together.starts)]
    found = strongest(each.together, living)
    return found[0] if found and found[0].p < 0.05 else None


def nothing() -> list[str]:
    """How often experiments without any interaction are said to have one, at 5 %."""
    lines = [f"| no interaction, {RUNS} experiments of {VISITORS:,} visitors | {' | '.join(SITES)} |"]
    lines.append("|---" * (1 + len(SITES)) + "|")
    for name, problem in PROBLEMS.items():
        for policy, goal in WAYS:
            cells = []
            for site in SITES if policy == "uts" else SITES[:1]:
                found = rehearse(
                    problem, policy=policy, goal=goal, site=site, visitors=VISITORS, runs=RUNS, after="weigh"
                )
                cells.append(f"{sum(_struck(each) is not None for each in found) / RUNS:.1%}")
            cells += [""] * (len(SITES) - len(cells))
            lines.append(f"| {name}, `{policy}`, goal {goal} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def planted() -> list[str]:
    """How often two levels that are clicked more together are found."""
    lines = ["| two levels of 2 x 3 x 2 clicked more together, of 40 experiments | earn | both | decide |"]
    lines.append("|---|---|---|---|")
    for more in (1.3, 1.5):
        problem = rankone.Product(PLANTED, interactions={("a", "b"): {("a 2", "b 2"): more}})
        for visitors in (20_000, 50_000):
            cells = []
            for goal in ("earn", "both", "decide"):
                found = [
                    _struck(each) for each in rehearse(problem, goal=goal, visitors=visitors, runs=40, after="weigh")
                ]
                cells.append(str(sum(each is not None and set(each.factors) == {0, 1} for each in found)))
            lines.append(f"| by {more - 1.0:.0%}, {visitors:,} visitors | {' | '.join(cells)} |")
    return lines


def scatters() -> list[str]:
    """How often a product is said to be none where clicks of combinations scatter by hours."""
    hours = (40, 100, 400, 2_000)
    lines = [
        f"| 2 x 3 x 2, {VISITORS:,} visitors, of {RUNS} | " + " | ".join(f"{hour:,} an hour" for hour in hours) + " |"
    ]
    lines.append("|---" * (1 + len(hours)) + "|")
    for scatter in (0.3, 0.8):
        cells: dict[str, list[str]] = {"allowed for": [], "not allowed for": [], "clicks in an hour": []}
        for hour in hours:
            rng, allowed, bare, clicks = generator(hour, "scatters"), 0, 0, 0
            for _ in range(RUNS):
                found = scattering(rng, VISITORS, hour, scatter)
                together = counted(found)
                allowed += struck(together, allowance(found)) is not None
                bare += struck(together) is not None
                clicks += int(found[1].sum())
            for name, value in zip(cells, (allowed, bare, round(clicks / RUNS / VISITORS * hour)), strict=True):
                cells[name].append(str(value))
        lines += [f"| log-scatter {scatter}, {name} | {' | '.join(each)} |" for name, each in cells.items()]
    return lines


def drifts() -> list[str]:
    """How often a product is said to be none where a level gains while the policy shifts its traffic."""
    lines = [f"| one level gains half-way, of {RUNS} | 20,000 visitors | 40,000 visitors |", "|---|---|---|"]
    for times in (1.0, 1.15, 1.25):
        rng, cells = generator(0, "drifts"), []
        for visitors in (20_000, 40_000):
            played = (drifting(rng, visitors, times) for _ in range(RUNS))
            cells.append(str(sum(struck(counted(found), allowance(found)) is not None for found in played)))
        lines.append(f"| by {times - 1.0:.0%} | {' | '.join(cells)} |")
    return lines


def report() -> str:
    """All tables, in Markdown."""
    return "\n".join([*nothing(), "", *planted(), "", *scatters(), "", *drifts()])
