"""The winner of many Betas: its law against quadrature, its bookkeeping against a plain recount."""

import numba
import numpy as np
import pytest
from scipy import stats

from rankone.numerics.betas.beta_maximum import (
    CALM,
    CLICKS,
    GROUP,
    GROUPS_CHANGES,
    GROUPS_N_ALIVE,
    GROUPS_QUICK,
    GROUPS_RENEW_AT,
    LEVELS,
    MEMBER,
    PULLS,
    RANK,
    SEAT,
    SIZE,
    challenge,
    regroup,
    start_beta_groups,
)
from rankone.numerics.seeds import generator
from rankone.numerics.structures.hash_tables import NOBODY
from tests.oracles.beta_maximum import win_probabilities


@numba.njit(error_model="numpy")
def tell(crowd, member, pulls, clicks):
    regroup(crowd, member, pulls, clicks)


@numba.njit(error_model="numpy")
def winners(crowd, pulls, clicks, count, rng):
    wins = np.zeros(len(crowd.seats) + 1, np.int64)
    for _ in range(count):
        wins[challenge(crowd, pulls, clicks, rng)] += 1  # NOBODY, the one held out, comes last
    return wins


# The first of each list is held out. Pulls and clicks.
CASES = {
    "nobody has outcomes": [(0, 0)] * 40,
    "few pulls": [(3, 2), (0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (5, 2), (5, 2)],
    "steady leader": [(5_000, 2_800)] + [(40, 7)] * 5 + [(12, 2), (3, 0), (60, 25)],
    "weak one held out": [(30, 3), (50, 40), (60, 48), (0, 0)],
    "groups and a newcomer": [(200, 100)] + [(20, 8)] * 30 + [(21, 9)] * 20 + [(1, 1)],
    "sharp and tied": [(200_000, 100_000), (190_000, 95_100), (150_000, 74_900), (40, 10)],
    "rare clicks": [(3_000, 9)] + [(500, 0)] * 6 + [(900, 2), (1_500, 3)],
    "extremely rare clicks": [(4_000_000, 3), (3_000_000, 2), (3_000_000, 2), (9_000_000, 11)],
    "always clicked": [(900, 900), (40, 40), (3, 3), (800, 799)],
    "never clicked": [(90, 0), (80, 0), (80, 0), (10, 0)],
    "one rival": [(10, 4), (8, 5)],
}


@pytest.mark.parametrize("case", CASES)
def test_wins_as_often_as_quadrature_says(case):
    held_out, *others = CASES[case]
    expected = win_probabilities([held_out, *others])
    assert expected.sum() == pytest.approx(1.0, abs=1e-9)
    crowd = start_beta_groups(len(others))
    for member, counts in enumerate(others):
        tell(crowd, member, *counts)
    count = 200_000
    wins = winners(crowd, *held_out, count, generator(1, case))
    found = np.concatenate([wins[-1:], wins[: len(others)]])
    assert found.sum() == count
    error = np.sqrt(count * expected * (1.0 - expected)) + 1.0  # the 1: counts are whole numbers
    assert (np.abs(found - count * expected) <= 4.5 * error).all()


def check(crowd, pulls, clicks):
    """Everything a crowd stores follows from its members' counts."""
    groups, seats = crowd.groups, crowd.seats
    for member in range(len(pulls)):
        seat = seats[member, SEAT]
        assert seats[seat, MEMBER] == member
        group = groups[seats[seat, GROUP]]
        assert (group[PULLS], group[CLICKS]) == (pulls[member], clicks[member])
        assert 0 <= seats[seat, RANK] < group[SIZE]
    assert groups[:, SIZE].sum() == len(pulls)
    assert crowd.group_counters[GROUPS_N_ALIVE] == (groups[:, SIZE] > 0).sum()
    places = {(seats[seat, GROUP], seats[seat, RANK]) for seat in seats[: len(pulls), SEAT]}
    assert len(places) == len(pulls)


def test_bookkeeping_stays_true():
    rng = generator(2, "crowd")
    n_members = 30
    crowd = start_beta_groups(n_members)
    pulls, clicks = np.zeros((2, n_members), int)
    check(crowd, pulls, clicks)
    for step in range(6_000):  # beyond the renewal of H
        member = int(rng.integers(n_members))
        if step % 2_500 == 0:
            pulls[:] = clicks[:] = 0  # a crowd that moves elsewhere
            for other in range(n_members):
                tell(crowd, other, 0, 0)
        pulls[member] += 1
        clicks[member] += rng.random() < 0.3
        tell(crowd, member, pulls[member], clicks[member])
        if step % 100 == 0:
            check(crowd, pulls, clicks)
    assert crowd.group_counters[GROUPS_CHANGES] < 6_000
    exact = sum(-stats.beta(s + 1, n - s + 1).logcdf(LEVELS) for n, s in zip(pulls, clicks, strict=True))
    low = exact < 40.0  # above, parts of the sum are cut off
    np.testing.assert_allclose(crowd.curves[-1, :CALM][low], exact[low], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("pulls", "clicks"), [(0, 0), (100, 60), (3_000, 40), (100_000, 56_000)])
def test_quick_level_is_never_missed(pulls, clicks):
    crowd = start_beta_groups(5)
    winners(crowd, pulls, clicks, 1, generator(3))
    latest = crowd.group_counters[GROUPS_RENEW_AT]
    assert latest > pulls
    level = LEVELS[crowd.group_counters[GROUPS_QUICK]]
    assert level == 0.0 or stats.beta(clicks + 1, latest - clicks + 1).logcdf(level) <= -46.0


def test_an_empty_crowd_never_wins():
    wins = winners(start_beta_groups(0), 3, 1, 100, generator(4))
    assert wins[NOBODY] == 100
