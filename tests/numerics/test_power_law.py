"""Exponents are recovered, and their standard errors cover noise and lack of fit."""

import numpy as np
import pytest

from rankone.numerics.power_law import fit_power_law
from rankone.numerics.seeds import generator


@pytest.mark.parametrize("exponent", [-2.0, -1.0, 0.0, 0.5, 1.0])
def test_an_exact_law_is_found(exponent):
    x = np.array([1.0, 3.0, 10.0, 40.0])
    fit = fit_power_law(x, 7.0 * x**exponent, np.zeros(4))
    assert fit == pytest.approx((exponent, 0.0), abs=1e-9)


def test_the_standard_error_is_the_spread_of_the_exponent():
    x, noise = np.array([2.0, 4.0, 8.0, 16.0, 32.0]), 0.05
    rng = generator(1)
    fits = [fit_power_law(x, x * np.exp(noise * rng.normal(size=5)), noise * x) for _ in range(400)]
    exponents, errors = np.array(fits).T
    spread = exponents.std()
    assert exponents.mean() == pytest.approx(1.0, abs=4 * spread / 20)
    # The larger of two honest estimates lies a little above the truth, never below it.
    assert spread < errors.mean() < 1.5 * spread


def test_steps_widen_the_error():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    steps = np.array([1.0, 4.0, 4.0, 16.0])
    assert fit_power_law(x, steps, 0.001 * steps)[1] > 0.2
    assert fit_power_law(x, x, 0.001 * x)[1] < 0.01
