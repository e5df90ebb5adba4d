"""The characteristic time: published recipe against values computed elsewhere, and against a plain search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rankone import RankOne
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.theory.bounds import characteristic_time, star_time

EXAMPLES = [
    (0.15, [0.10] * 7, 3_550),
    (0.05, [0.045] * 2, 63_346),
    (0.05, [0.04] * 2, 15_064),
    (0.05, [0.04] * 10, 45_319),
    (0.03, [0.0255] * 5, 84_328),
    (0.72, [0.40] * 3, 105),
]


@pytest.mark.parametrize(("best", "others", "decisions"), EXAMPLES)
def test_decisions_at_an_error_of_five_percent(best: float, others: list[float], decisions: int) -> None:
    assert round(star_time(best, others) * math.log(20)) == decisions


def test_no_shares_do_better_and_some_nearly_as_well() -> None:
    best, others = 0.4, [0.3, 0.1]
    found, most = star_time(best, others), 0.0
    for first, second in itertools.product(np.linspace(0.01, 0.98, 98), repeat=2):
        left = 1.0 - first - second
        if left <= 0.0:
            continue
        least = math.inf
        for mean, share in zip(others, (first, second), strict=True):
            middle = (left * best + share * mean) / (left + share)
            least = min(least, left * bernoulli_kl(best, middle) + share * bernoulli_kl(mean, middle))
        most = max(most, least)
    assert 1.0 / most == pytest.approx(found, rel=0.02)  # shares a hundredth apart
    assert 1.0 / most >= found * (1.0 - 1e-9)


def test_ends_of_the_range() -> None:
    assert star_time(0.5, []) == 0.0
    assert star_time(0.5, [0.5, 0.1]) == math.inf
    assert 0.0 < star_time(0.5, [0.0]) < star_time(0.5, [0.01])
    assert 0.0 < star_time(1.0, [0.9]) < math.inf


def test_a_problem_is_its_best_pair_and_that_pairs_row_and_column() -> None:
    problem = RankOne([0.2, 0.9, 0.5], [0.5, 0.8])
    assert characteristic_time(problem) == pytest.approx(star_time(0.72, [0.16, 0.40, 0.45]))
    assert characteristic_time(RankOne([0.5, 0.5], [0.3, 0.2])) == math.inf
