"""Tails of Betas: their probabilities by recurrence, and draws from them, against SciPy."""

import numba
import numpy as np
import pytest
from scipy import stats

from rankone.numerics.betas.beta import after_look, draw_above, tail
from rankone.numerics.seeds import generator


@numba.njit
def _tail(pulls, clicks, x):
    return tail(pulls, clicks, x)


@numba.njit
def _after(pulls, clicks, clicked, x, above, height):
    return after_look(pulls, clicks, clicked, x, above, height)


@numba.njit
def _draws(pulls, clicks, x, rng, found):
    for place in range(len(found)):
        found[place] = draw_above(pulls, clicks, x, rng)


@pytest.mark.parametrize("x", [0.01, 0.2, 0.5, 0.97])
def test_recurrence(x):
    rng, pulls, clicks = generator(1, "tail"), 0, 0
    above, height = _tail(0, 0, x)
    for _ in range(3_000):
        clicked = int(rng.random() < 0.2)
        above, height = _after(pulls, clicks, clicked, x, above, height)
        pulls, clicks = pulls + 1, clicks + clicked
        assert above == pytest.approx(stats.beta.sf(x, clicks + 1, pulls - clicks + 1), abs=1e-12)
    assert height == pytest.approx(_tail(pulls, clicks, x)[1], rel=1e-6, abs=1e-300)


@pytest.mark.parametrize(
    "counts", [(0, 0, 0.9), (5, 0, 0.3), (10, 10, 0.975), (200, 199, 0.9965), (40, 8, 0.3), (2_000, 300, 0.17)]
)
def test_draws_have_the_law_of_the_tail(counts):
    pulls, clicks, x = counts
    found = np.empty(4_000)
    _draws(pulls, clicks, x, generator(2, "tail"), found)
    law = stats.beta(clicks + 1, pulls - clicks + 1)
    assert found.min() > x
    assert stats.kstest(found, lambda y: (law.cdf(y) - law.cdf(x)) / law.sf(x)).pvalue > 1e-4
