"""Visitors still needed: how often is there a guess, and how often is it right? Also near ties, and where there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankone import RankOne, as_policy
from rankone.compiling.compiled import compiled
from rankone.evidence.steering import AIMS
from rankone.evidence.visitors_left import visitors_left
from rankone.numerics.seeds import generator
from rankone.simulation.plans import rehearsal

LOOKS = (100, 300, 1_000, 3_000, 10_000, 30_000)
LONGEST = 100_000  # visitors; a verdict that takes longer is one that no guess foresees
SIDE = math.sqrt(0.3)
PROBLEMS = {
    f"{size} x {size}, 30%, ratios {ratio:g}": RankOne(
        [SIDE, *[SIDE * ratio] * (size - 1)], [SIDE, *[SIDE * ratio] * (size - 1)]
    )
    for size in (2, 3)
    for ratio in (0.8, 0.87, 0.93, 1.0)
}

# Left out: "both" near ties, and with nine pairs, takes an hour.
LONG = {(name, "both") for name in list(PROBLEMS)[3:]}


def guess(problem: RankOne, aim: str, seed: int, visitors: int) -> tuple[int, int] | None:
    """Return what is guessed after so many visitors of the rehearsal with this seed."""
    policy, bar = as_policy("uts").live(), rehearsal._bar(problem, 0.05)
    stage = rehearsal._stage(rehearsal.product_to_rehearse(problem), AIMS[aim].explore, 0.0, np.ones(1))
    play = compiled(rehearsal.play_experiment, type(policy).__module__, rehearsal.__name__)
    rng, luck, end = generator(seed, "experiment", 1), generator(seed, "visitors"), np.array([visitors])
    bars = bar, rehearsal._beaten_bar(problem, 0.05)
    play(policy.start(*problem.shape), stage, rng, luck, *bars, AIMS[aim], 0, end, np.empty(1))
    given = stage.evidence, stage.levels, stage.steering.starts, stage.leaders, bar, visitors
    return visitors_left(*given, int(stage.counts[1].sum()))


def judged(problem: RankOne, aim: str, seed: int, looks: Sequence[int] = LOOKS) -> list[bool | None]:
    """Return of each look before the verdict whether the guess was right; None: there was none."""
    (whole,) = rehearsal.simulate_experiment(problem, aim=aim, visitors=LONGEST, after="stop", runs=1, seed=seed)
    verdict = math.inf if whole.verdict is None else whole.verdict
    guesses = [(at, guess(problem, aim, seed, at)) for at in looks if at < verdict]
    return [None if found is None else found[0] <= verdict - at <= found[1] for at, found in guesses]


def row(name: str, aim: str, runs: Sequence[int]) -> str:
    """Return the row of a problem: looks, guesses, and how many of these were right."""
    found = [each for seed in runs for each in judged(PROBLEMS[name], aim, seed)]
    given = [each for each in found if each is not None]
    right = f"{sum(given) / len(given):.0%}" if given else ""
    return f"| {name} | {aim} | {len(found)} | {len(given)} ({len(given) / len(found):.0%}) | {right} |"


def report(runs: Sequence[int] = range(5_000, 5_400)) -> str:
    """Return the table of all problems; where levels are equal every guess is wrong."""
    head = "| problem | aim | looks before a verdict | with a guess | right |"
    rows = [row(name, aim, runs) for name in PROBLEMS for aim in ("decide", "both") if (name, aim) not in LONG]
    intro = (
        f"{len(runs)} runs each, looked at after {', '.join(f'{at:,}' for at in LOOKS)} visitors; the guess is meant"
    )
    intro += " to be right in\n80% at least if the differences so far are real."
    return "\n".join([intro, "", head, "|---|---|---|---|---|", *rows])
