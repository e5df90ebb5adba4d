"""Beta distribution function and draws, against SciPy."""

import numba
import numpy as np
import pytest
from scipy import stats

from rankone.numerics.betas.beta import NEVER, draw_beta, draw_beta_above, log_coefficient, minus_log_cdf
from rankone.numerics.seeds import generator

COUNTS = [(0, 0), (1, 0), (1, 1), (5, 2), (40, 0), (40, 40), (300, 7), (2_000, 1_100), (100_000, 123)]
COUNTS += [(1_000_000, 562_500)]


@numba.njit(error_model="numpy")
def value(pulls, clicks, x):
    return minus_log_cdf(pulls, clicks, log_coefficient(pulls, clicks), x)


@pytest.mark.parametrize(("pulls", "clicks"), COUNTS)
def test_distribution_function(pulls, clicks):
    beta = stats.beta(clicks + 1, pulls - clicks + 1)
    tails = 10.0 ** -np.arange(0.5, 16.0, 0.5)
    points = np.concatenate([beta.ppf(tails), beta.isf(tails), [1e-9, 0.3, 0.999]])
    found = np.array([value(pulls, clicks, x) for x in points])
    np.testing.assert_allclose(found, np.minimum(-beta.logcdf(points), NEVER), rtol=1e-8, atol=1e-17)


def test_edges():
    assert value(3, 1, 0.0) == NEVER
    assert value(3, 1, 1.0) == 0.0


@numba.njit
def draws(pulls, clicks, count, rng):
    return np.array([draw_beta(pulls, clicks, rng) for _ in range(count)])


@pytest.mark.parametrize(("pulls", "clicks"), COUNTS)
def test_draws(pulls, clicks):
    """Kolmogorov-Smirnov over all ten cases: a right sampler fails one of them once in ten thousand seeds."""
    found = draws(pulls, clicks, 20_000, generator(1, "beta"))
    assert stats.kstest(found, stats.beta(clicks + 1, pulls - clicks + 1).cdf).pvalue > 1e-5


def test_a_draw_that_only_has_to_be_above_a_floor_is_the_same_draw():
    """From the same random numbers; below the floor it need not be worked out."""
    rng = generator(1, "floors")
    below = 0
    for _ in range(4_000):
        pulls = int(rng.integers(0, [3, 30, 3_000][rng.integers(3)]))
        clicks = int(rng.choice([0, pulls, int(rng.integers(0, pulls + 1))]))
        seed = int(rng.integers(2**40))
        one, other = generator(seed, "draw"), generator(seed, "draw")
        whole = draw_beta(pulls, clicks, one)
        # Floors around the draw itself too: there rounding could tell them apart.
        floor = [rng.random(), np.nextafter(whole, rng.integers(2)), whole, whole * (1.0 + 1e-7)][rng.integers(4)]
        draw = draw_beta_above(pulls, clicks, floor, other)
        assert (draw > floor) == (whole > floor)
        assert draw == whole or whole <= floor
        assert one.random() == other.random()
        below += draw != whole
    assert below > 100
