"""The likeliest product of levels: that of a general optimiser."""

import numpy as np
import pytest
from scipy import optimize, stats

from rankone.analysis.product.intervals import Intervals
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion, given_dispersion
from rankone.numerics.product_fit import Design, deviances
from rankone.numerics.seeds import generator
from tests.oracles.rank_one import slow_statistic


def table(rng, sizes, mean, low, high):
    """A random table of a product, some cells of which were never shown."""
    values = [rng.uniform(low, high, size) for size in sizes]
    cells = np.argwhere(np.ones(sizes))
    shown = rng.poisson(mean, len(cells))
    rates = np.prod([side[column] for side, column in zip(values, cells.T, strict=True)], axis=0)
    clicked = rng.binomial(shown, rates)
    return cells[shown > 0], shown[shown > 0], clicked[shown > 0]


@pytest.mark.parametrize(("mean", "low", "high"), [(200, 0.1, 0.5), (3, 0.3, 0.95), (20, 0.95, 1.0), (40, 0.03, 0.2)])
def test_two_factors_are_those_of_a_general_optimiser(mean, low, high):
    cells, shown, clicked = table(generator(0, "fit", mean), (4, 3), mean, low, high)
    grid = np.zeros((2, 4, 3), np.int64)
    grid[0][tuple(cells.T)], grid[1][tuple(cells.T)] = shown, clicked
    design = Design.of(cells, (4, 3), shown, clicked)
    found = deviances(shown, clicked, design.rates(design.maximise().x)).sum()
    assert found == pytest.approx(slow_statistic(*grid), abs=1e-3)
    assert found <= slow_statistic(*grid) + 1e-4, "a maximum"


def test_three_factors_are_those_of_a_general_optimiser():
    rng = generator(1, "fit")
    cells, shown, clicked = table(rng, (3, 2, 2), 60, 0.3, 0.8)
    design = Design.of(cells, (3, 2, 2), shown, clicked)

    def loss(x):
        eta = np.minimum(x[design.levels].sum(axis=1), -1e-9)
        return -(clicked @ eta + (shown - clicked) @ np.log(-np.expm1(eta)))

    found = optimize.minimize(loss, np.full(7, -0.5), method="BFGS")
    assert -design.maximise().log_likelihood == pytest.approx(found.fun, abs=1e-3)


def test_no_combination_is_clicked_more_often_than_always():
    """The pair that was never shown, of two levels that are clicked whenever they are shown, has rate 1 at most."""
    design = Design.of(np.array([[0, 0], [1, 1], [0, 1]]), (2, 2), [10, 10, 10], [9, 9, 0])
    x = design.maximise().x
    assert x[:2].max() + x[2:].max() <= 1e-6


@pytest.mark.parametrize(("clicks", "shown"), [(0, 1000), (1, 1000), (5, 500), (40, 900), (9, 10), (10, 10)])
def test_a_single_rate_has_nearly_the_exact_interval(clicks, shown):
    """Clopper's and Pearson's: not much shorter, or it would miss too often."""
    found = Intervals(Design.of(np.zeros((1, 1), np.int64), (1,), [shown], [clicks]), BINOMIAL)
    low = stats.beta.ppf(0.025, clicks, shown - clicks + 1) if clicks else 0.0
    high = stats.beta.ppf(0.975, clicks + 1, shown - clicks) if clicks < shown else 1.0
    assert np.exp(found.lower(np.ones(1), 0.025)) <= low * 1.02 + 1e-12
    assert np.exp(found.upper(np.ones(1), 0.025)) >= high * 0.9


def test_what_was_never_shown_together_is_not_compared():
    found = Intervals(Design.of(np.array([[0, 0], [1, 1]]), (2, 2), [100, 100], [10, 20]), BINOMIAL)
    assert not found.comparable(np.array([1.0, -1.0, 0.0, 0.0]))
    assert found.upper(np.array([1.0, -1.0, 0.0, 0.0]), 0.025) == np.inf
    assert found.comparable(np.array([1.0, 0.0, 1.0, 0.0]))


def test_a_dispersion_makes_intervals_longer_by_its_root():
    cells, contrast = np.array([[0], [1]]), np.array([1.0, -1.0])
    design = Design.of(cells, (2,), [100_000] * 2, [5_000, 5_500])
    plain, wide, guessed = (
        Intervals(design, scatter) for scatter in (BINOMIAL, given_dispersion(4.0), Dispersion(4.0, 10.0, "repeats"))
    )
    lengths = [each.upper(contrast, 0.025) - each.value(contrast) for each in (plain, wide, guessed)]
    assert lengths[1] == pytest.approx(2.0 * lengths[0], rel=0.02)
    assert lengths[2] == pytest.approx(lengths[1] * stats.t.ppf(0.975, 10) / 1.96, rel=0.02)
