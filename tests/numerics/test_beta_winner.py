"""Who draws the largest Beta: the quadrature in compiled code against SciPy's incomplete Beta functions."""

import numba
import numpy as np
import pytest

from rankone.numerics.betas.beta_winner import GROUP_SIZE, compare, curves_of, win_chance
from rankone.numerics.seeds import generator
from tests.oracles.beta_maximum import win_probabilities


@numba.njit
def wins(table):
    curves = curves_of(table, table.shape[1])
    compare(table, table.shape[1], curves)
    found = np.empty(table.shape[1])
    for group in range(table.shape[1]):
        found[group] = win_chance(curves, group)
    return found


def expect_right(groups, sizes=None):
    """Relative error at most 1% down to 1e-6, and at most 1e-8 below that."""
    groups = np.unique(np.array(groups), axis=0)
    sizes = np.ones(len(groups), int) if sizes is None else sizes[: len(groups)]
    table = np.ascontiguousarray(np.column_stack([groups, sizes]).T)
    found = wins(table)
    exact = win_probabilities(np.repeat(groups, sizes, axis=0).tolist())[np.cumsum(sizes) - sizes]
    assert (found >= 0.0).all()
    assert table[GROUP_SIZE] @ found == pytest.approx(1.0, abs=1e-12)
    assert (np.abs(found - exact) <= np.maximum(0.01 * exact, 1e-8)).all(), (groups, found, exact)


@pytest.mark.parametrize("most", [3, 100, 10**6])
@pytest.mark.parametrize("case", range(3))
def test_random_members(most, case):
    """Any counts: pulls and rates over all orders of magnitude."""
    rng = generator(case, "winner", most)
    pulls = (np.exp(rng.uniform(0.0, np.log(most + 1), 9)) - 1).astype(int)
    clicks = rng.binomial(pulls, np.exp(rng.uniform(np.log(0.001), np.log(0.99), 9)))
    expect_right(np.column_stack([pulls, clicks]), rng.integers(1, 9, 9))


@pytest.mark.parametrize("case", range(4))
def test_rivals_a_few_standard_deviations_behind(case):
    """Members of all widths whose chances are small, but not too small to count."""
    rng = generator(case, "rivals")
    rate, pulls = np.exp(rng.uniform(np.log(0.001), np.log(0.99))), (10 ** rng.uniform(0.0, 6.0, 8)).astype(int)
    behind = rng.uniform(0.0, 5.0, 8) * np.sqrt(rate * (1.0 - rate) / (pulls + 3))
    expect_right(np.column_stack([pulls, np.round(pulls * np.maximum(rate - behind, 0.0)).astype(int)]))


@pytest.mark.parametrize(
    "groups",
    [
        [(0, 0), (10**6, 500_000)],
        [(2, 2), (10**6, 500_000), (10**6, 499_000)],
        [(10**6, 10**6), (10**6, 999_999), (0, 0)],
        [(10**6, 0), (10**5, 0), (10, 0)],
        [(10**6, 1_000), (1_000, 0), (1_000, 3)],
        [(20, 0), (10**6, 500_000)],
        [(1, 0), (1, 1)],
        [(17, 17), (4_627, 2_374), (10**8, 0)],
        [(10**8, 10**8), (10, 4)],
    ],
)
def test_corners(groups):
    """Very narrow next to very wide, always or never clicked."""
    expect_right(groups)


def test_equal_members_win_equally_often():
    for counts in ((0, 0), (7, 3), (10**6, 10)):
        assert wins(np.array([[counts[0]], [counts[1]], [12]])) == pytest.approx(1 / 12, rel=1e-12)
