"""Visitors still needed: how often the range is right, by rehearsals that go on to their verdict."""

from __future__ import annotations

import numpy as np
import pytest

from rankone import RankOne, as_policy
from rankone.compiling.compiled import compiled
from rankone.kernels.evidence import start_evidence
from rankone.kernels.steering import GOALS
from rankone.numerics.seeds import generator
from rankone.problems.visitors_left import visitors_left
from rankone.simulation import rehearsal

# Problems that the calibration has not seen, and when to ask.
PROBLEMS = {
    "3 x 3": (RankOne([0.5, 0.35, 0.3], [0.4, 0.3, 0.25]), (400, 1_500)),
    "5 x 2": (RankOne([0.6, 0.4, 0.4, 0.3, 0.3], [0.9, 0.5]), (200, 600)),
}


def evidence_after(problem: RankOne, goal: str, seed: int, visitors: int) -> rehearsal.Stage:
    policy = as_policy("uts").live()
    stage = rehearsal._stage(rehearsal._product(problem), GOALS[goal].explore, 0.0, np.ones(1))
    rehearsal_loop = compiled(rehearsal.play, type(policy).__module__, rehearsal.__name__)
    rng, luck, end = generator(seed, "experiment", 1), generator(seed, "visitors"), np.array([visitors])
    state, bars = policy.start(*problem.shape), (rehearsal._bar(problem, 0.05), rehearsal._beaten_bar(problem, 0.05))
    rehearsal_loop(state, stage, rng, luck, *bars, GOALS[goal], 0, end, np.empty(1))
    return stage


@pytest.mark.parametrize("goal", ["decide", "both"])
def test_the_range_is_right_as_often_as_it_says(goal: str) -> None:
    right = []
    for problem, times in PROBLEMS.values():
        bar = rehearsal._bar(problem, 0.05)
        for seed in range(30):
            (whole,) = rehearsal.rehearse(problem, goal=goal, visitors=100_000, after="stop", runs=1, seed=seed)
            for asked in times:
                if whole.verdict is not None and whole.verdict > asked:
                    stage = evidence_after(problem, goal, seed, asked)
                    given = stage.evidence, stage.levels, stage.steering.starts, stage.leaders, bar, asked
                    low, high = visitors_left(*given)  # type: ignore[misc]
                    right.append(low <= whole.verdict - asked <= high)
    assert len(right) > 60
    assert np.mean(right) > 0.8 - 3.0 * np.sqrt(0.8 * 0.2 / 60)  # two looks at one run are not independent


def test_too_early_to_say_and_nothing_left() -> None:
    evidence, levels, starts, leaders = start_evidence((2, 2)), np.arange(4), np.array([0, 2, 4]), np.array([0, 2])
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 100) is None
    evidence.proof[0, 1] = evidence.proof[2, 3] = 4.0
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 100) == (0, 0)
