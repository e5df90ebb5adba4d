"""Draws from the posterior of one factor against its density, integrated on a grid."""

import numba
import numpy as np
import pytest
from scipy import stats

from rankone.numerics.betas.product_posterior import HULL, draw_factor, make_hull
from rankone.numerics.seeds import generator

CASES = {  # clicks, misses, rates
    "nothing seen": (0, [0, 0], [1.0, 0.5]),
    "never clicked": (0, [9, 4], [1.0, 0.3]),
    "always clicked": (7, [0, 0], [1.0, 0.5]),
    "a Beta": (30, [170], [1.0]),
    "more clicks than its rate allows": (40, [3, 0, 0], [0.2, 0.5, 0.1]),
    "two rates": (12, [5, 300], [0.9, 0.05]),
    "many": (9_000, [30_000, 2_000, 40_000], [1.0, 0.6, 0.3]),
    "one click": (1, [0, 1], [0.4, 0.8]),
}


@numba.njit
def _draws(clicks, misses, rates, hull, rng, found):
    make_hull(clicks, misses, rates, hull)
    for place in range(len(found)):
        found[place] = draw_factor(clicks, misses, rates, hull, rng)


@pytest.mark.parametrize("guess", [0.0, 0.9])
@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_law_of_the_posterior(name, guess):
    clicks, misses, rates = CASES[name]
    misses, rates, hull, found = np.array(misses, float), np.array(rates), np.full(HULL, guess), np.empty(4_000)
    _draws(float(clicks), misses, rates, hull, generator(1, name), found)
    grid = (np.arange(2_000_000) + 0.5) / 2_000_000
    log_density = clicks * np.log(grid) + np.log1p(-np.outer(rates, grid)).T @ misses
    below = np.cumsum(np.exp(log_density - log_density.max()))
    law = stats.kstest(found, lambda q: np.interp(q, grid, below / below[-1]))
    assert law.pvalue > 1e-4


@pytest.mark.parametrize("name", CASES)
def test_few_draws_are_thrown_away(name):
    clicks, misses, rates = CASES[name]
    rng, same = generator(2, "tries"), generator(2, "tries")
    misses, rates, hull, found = np.array(misses, float), np.array(rates), np.zeros(HULL), np.empty(1_000)
    _draws(float(clicks), misses, rates, hull, rng, found)
    used = 0
    while same.bit_generator.state != rng.bit_generator.state:
        same.random()
        used += 1
    assert used < 3 * len(found) / 0.6, "two or three numbers a try, more than 60% kept"
