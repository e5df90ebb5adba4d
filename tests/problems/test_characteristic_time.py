"""The characteristic time: published recipe against values computed elsewhere, and against a plain search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rankone import RankOne
from rankone.numerics.kl import bernoulli_kl
from rankone.problems.theory.time_to_be_sure import characteristic_time, least_decisions, star_time

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


def test_no_rule_is_sooner_than_one_that_may_show_all_combinations() -> None:
    assert characteristic_time(RankOne([0.5, 0.5], [0.3, 0.2])) == math.inf
    assert characteristic_time(RankOne([0.5], [0.3])) == 0.0
    one_factor = RankOne([0.9], [0.3, 0.2, 0.1])
    assert characteristic_time(one_factor) == pytest.approx(star_time(0.27, [0.18, 0.09]), rel=3e-3)
    problem = RankOne([0.2, 0.9, 0.5], [0.5, 0.8])
    assert characteristic_time(problem) <= star_time(0.72, [0.16, 0.40, 0.45])


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (5, 2)])
def test_near_ties_are_told_apart_by_all_combinations_sooner(sizes: tuple[int, int]) -> None:
    """To the first order in the difference both bounds are known: (1 + root of K + L - 2)^2 and (... of max - 1)^2."""
    rows, cols = ([0.5, *[0.4999] * (size - 1)] for size in sizes)
    times = characteristic_time(RankOne(rows, cols)) / star_time(0.25, [0.5 * 0.4999] * (sum(sizes) - 2))
    assert times == pytest.approx(((1 + math.sqrt(max(sizes) - 1)) / (1 + math.sqrt(sum(sizes) - 2))) ** 2, rel=3e-3)


def test_two_by_two_against_a_plain_search() -> None:
    """Every share a twentieth apart, every product a hundredth apart: the best of the least evidence."""
    rows, cols = [0.8, 0.5], [0.7, 0.6]
    means = np.outer(rows, cols).ravel()
    steps = np.exp(np.linspace(math.log(0.05), 0.0, 60))[:-1]
    tied = [  # products in which the second row is as good as the first, or the second column is
        np.outer([side, side], [one, other]) if by_row else np.outer([one, other], [side, side])
        for side, one, other in itertools.product([0.7], steps, steps)
        for by_row in (True, False)
    ]
    x = np.array([each.ravel() for each in tied])
    told = means * np.log(means / x) + (1 - means) * np.log((1 - means) / (1 - x))
    twentieths = [np.array(each) / 20 for each in itertools.product(range(21), repeat=4) if sum(each) == 20]
    most = max(float((told @ shares).min()) for shares in twentieths)
    assert characteristic_time(RankOne(rows, cols)) == pytest.approx(1.0 / most, rel=0.1)


def test_the_bound_of_many_levels_is_that_of_the_hardest_factor() -> None:
    rows, cols = np.linspace(0.9, 0.1, 40), np.linspace(0.8, 0.3, 20)
    least = characteristic_time(RankOne(rows, cols))
    assert least == pytest.approx(max(star_time(0.72, 0.8 * rows[1:]), star_time(0.72, 0.9 * cols[1:])))
    assert least < star_time(0.72, [*(0.8 * rows[1:]), *(0.9 * cols[1:])])


def test_a_mean_of_decisions_that_no_error_allows_less() -> None:
    assert least_decisions("needle:4x4", 0.05) == characteristic_time("needle:4x4") * bernoulli_kl(0.05, 0.95)
