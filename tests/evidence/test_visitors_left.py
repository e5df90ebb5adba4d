"""Visitors still needed: how often the range is right, by rehearsals that go on to their verdict."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.forecasts import guess, judged

from rankone import RankOne
from rankone.evidence.levels import start_evidence
from rankone.evidence.visitors_left import visitors_left

# Problems with real differences, and when to ask.
PROBLEMS = {
    "2 x 2": (RankOne([0.6, 0.45], [0.6, 0.45]), (300, 600, 1_200, 2_400)),
    "3 x 2": (RankOne([0.6, 0.4, 0.4], [0.9, 0.5]), (150, 300, 600)),
}
TIES = RankOne([0.6, 0.6], [0.5, 0.5])


@pytest.mark.parametrize("aim", ["decide", "both"])
def test_the_range_is_right_as_often_as_it_says(aim: str) -> None:
    right = []
    for problem, times in PROBLEMS.values():
        for seed in range(30):
            right += [each for each in judged(problem, aim, seed, times) if each is not None]
    assert len(right) > 20, len(right)
    assert np.mean(right) > 0.8 - 3.0 * np.sqrt(0.8 * 0.2 / 20)  # two looks at one run are not independent


def test_levels_that_may_be_equal_have_no_guess() -> None:
    """By an interval of 95% for each factor: about one look of 400 has both beyond a tie."""
    guesses = [guess(TIES, "decide", seed, asked) for seed in range(20) for asked in (200, 1_000, 4_000)]
    assert guesses.count(None) >= len(guesses) - 2


def test_too_early_to_say_and_nothing_left() -> None:
    evidence, levels, starts, leaders = start_evidence((2, 2)), np.arange(4), np.array([0, 2, 4]), np.array([0, 2])
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 1_000, 500) is None
    evidence.logs[0, 1] = evidence.logs[2, 3] = 2.9
    evidence.logs[1, 0] = evidence.logs[3, 2] = -3.0
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 1_000, 100) is not None
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 1_000, 99) is None
    evidence.proof[0, 1] = evidence.proof[2, 3] = 4.0
    assert visitors_left(evidence, levels, starts, leaders, 3.0, 1_000, 0) == (0, 0)
