"""How large deviations from the product are and what they cost: the truth is inside as often as is said."""

import numpy as np
import pytest
from benchmarks.bench_misfit import KINDS, table

from rankone import check_rank1
from rankone.analysis.interactions import check_counts
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.rank1_test.misfit import Misfit, _Model, measure_misfit
from rankone.errors import InputError
from rankone.numerics.seeds import generator

RUNS = 60


@pytest.mark.parametrize(
    "name",
    [
        "a product, 4 x 5 x 3, 2,000 each",
        "interactions of 2%, 4 x 4, 10,000,000 each",
        "interactions of 10%, 4 x 4 x 3, 5,000 each",
        "a product, clicks scatter twice as much, given",
        "one of 4 x 4 better by half, 100,000 each",
    ],
)
def test_the_truth_is_inside(name):
    """`python -m benchmarks misfit` has 400 tables of each kind."""
    kind, rng = KINDS[name], generator(7, name)
    found = [table(kind, rng) for _ in range(RUNS)]
    least = RUNS * 0.95 - 3 * np.sqrt(RUNS * 0.95 * 0.05)
    assert sum(true <= said.lost_high + 1e-12 for said, true in found) >= least
    if kind.spike == 1.0:
        assert sum(said.deviation_low <= kind.own <= said.deviation_high + 1e-12 for said, _ in found) >= least


def test_a_fit_better_than_chance_is_no_proof_that_there_is_no_interaction():
    """The counts are exactly a product; on average chance would leave some size open, and so does this table."""
    cells, rates = np.argwhere(np.ones((3, 3, 2))), np.full(18, 0.1)
    shown = np.full(18, 1_000)
    said = measure_misfit(cells, (3, 3, 2), shown, (shown * rates).astype(int), rates, generator(3))
    model = _Model(cells, (3, 3, 2), rates, np.zeros(18), np.full(18, 0.9 / 100.0))
    assert model.expected(0.0) == pytest.approx(model.freedom)  # Q is chi-squared there
    assert model.expected(0.009) == pytest.approx(model.freedom / 2.0)
    rng = generator(4)
    means = [model_q(cells, rates, model._noise, rng, own=0.003) for _ in range(300)]
    assert np.mean(means) == pytest.approx(model.expected(0.003), abs=4 * np.std(means) / np.sqrt(300))
    assert said.deviation == said.deviation_low == 0.0
    assert 0.03 < said.deviation_high < 0.2
    assert "(0% to 0%)" not in said.sentence(doubtful=True)


def model_q(cells, rates, noise, rng, own):
    drawn = _Model(cells, (3, 3, 2), rates, np.sqrt(noise) * rng.standard_normal(18), noise)
    return drawn.fitted(own)[0]


def test_many_impressions_reject_what_costs_nothing():
    rates = np.outer([0.08, 0.06, 0.05], [0.9, 0.8])
    rates[2, 1] *= 1.02
    shown = np.full(rates.shape, 10**8)
    report = check_rank1((shown, (rates * shown).round().astype(int)), simulations=40)
    assert report.doubtful
    assert report.misfit.costs_little
    assert report.misfit.share_high < 0.05
    assert report.sentence.startswith("Factors interact a little (p = 0.024); choosing level by level costs at most ")
    assert report.sentence.endswith("choosing level by level costs at most 0.1% of clicks.")
    assert report.to_dict()["misfit"]["sentence"].endswith("interaction matters little here.")


def test_what_costs_much_is_said():
    """The best pair is one that no single level promises."""
    rates = np.array([[0.10, 0.10, 0.02], [0.10, 0.10, 0.02], [0.02, 0.02, 0.15]])
    shown = np.full(rates.shape, 20_000)
    misfit = check_rank1((shown, generator(1).binomial(shown, rates)), simulations=20).misfit
    assert misfit.lost_low > 0.2
    assert misfit.lost_low < 1 - 0.10 / 0.15 < misfit.lost_high
    assert misfit.sentence(doubtful=True).endswith("choose whole combinations.")


def test_factors_are_tested_two_by_two_with_what_it_costs():
    rates = 0.2 * np.ones((2, 2, 3))
    rates[0, 0] *= 1.5
    shown = np.full(rates.shape, 3_000)
    report = check_counts(as_factor_counts((shown, generator(2).binomial(shown, rates))), simulations=99)
    assert [check.name for check in report.checks] == ["row and col", "row and layer", "col and layer"]
    assert [check.name for check in report.doubts] == ["row and col"]
    assert report.misfit is report.of_all is not None
    assert report.sentence.startswith("Factors seem to interact: row and col")
    with pytest.raises(InputError, match="two factors or more, but got one"):
        check_counts(as_factor_counts(([5, 5], [1, 2])))


def test_too_few_simulations_are_no_sign_of_a_product():
    """Three tests share the error: of 20 simulations even the smallest p-value, 1 / 21, is above a third of it."""
    rates = 0.2 * np.ones((2, 2, 2))
    rates[0, 0] *= 1.5
    shown = np.full(rates.shape, 5_000)
    counts = as_factor_counts((shown, (rates * shown).round().astype(int)))
    few = check_counts(counts, simulations=20)
    assert not few.doubtful
    assert few.sentence.startswith(
        "Too few simulations to tell whether two factors interact: no simulated table of 20 "
    )
    strict = check_counts(counts, level=0.002)  # 999 simulations could not tell
    assert [check.name for check in strict.doubts] == ["row and col"]


def test_what_is_not_known_is_not_claimed():
    known = {"deviation": 0.1, "deviation_low": 0.0, "deviation_high": 0.3, "share": 0.2, "share_high": 0.6}
    lost = {"lost": 0.0, "lost_low": 0.0, "lost_high": 0.01}
    assert "the best is found all the same" in Misfit(**known, share_low=0.0, **lost).sentence(doubtful=True)
    assert "is interaction" not in Misfit(**known, share_low=0.0, **lost).sentence(doubtful=True), "0% to 60%"


def test_while_the_test_finds_nothing_only_the_bound_is_said():
    """Four by four equal rates: the point estimates are noise, 42% "is interaction" for one such table."""
    shown = np.full((4, 4), 1_000)
    for seed in range(5):
        report = check_rank1((shown, generator(seed, "equal").binomial(shown, 0.02)), simulations=99)
        assert not report.doubtful
        said = f"If combinations do interact, choosing level by level costs {report.misfit.at_most} of "
        assert report.misfit_sentence == said + "clicks."
        assert report.to_dict()["misfit"]["sentence"] == report.misfit_sentence


def test_nothing_to_tell_it_by():
    one_row = check_rank1(([[100, 100]], [[10, 20]]), simulations=20)
    assert one_row.misfit is None
    assert "misfit" in one_row.to_dict()


def test_unseen_combinations_may_be_the_best():
    """Half of the pairs of a table with interactions were never shown: the loss is larger, and so is its bound."""
    rng = generator(3)
    rates = 0.1 * (1.0 + 0.3 * rng.standard_normal((6, 6)))
    cells, fitted = np.argwhere(np.ones((6, 6))), np.full(36, 0.1)
    shown = np.full(36, 10_000)
    clicked = rng.binomial(shown, rates.ravel())
    whole = measure_misfit(cells, (6, 6), shown, clicked, fitted, generator(4))
    some = rng.permutation(36)[:24]
    part = measure_misfit(cells[some], (6, 6), shown[some], clicked[some], fitted[some], generator(4))
    assert whole.lost_high - whole.lost_low < part.lost_high - part.lost_low


def test_the_least_squares_are_those_of_matrices():
    """The slow twin of Q: weighted least squares, written out."""
    rng = generator(5)
    cells = np.argwhere(np.ones((3, 4)))
    off, noise = rng.standard_normal(12), rng.random(12) + 0.1
    model = _Model(cells, (3, 4), np.full(12, 0.1), off, noise)
    design = np.concatenate([np.eye(3)[cells[:, 0]], np.eye(4)[cells[:, 1]]], axis=1)
    root = 1.0 / np.sqrt(noise + 0.2)
    left = root * off - (root[:, None] * design) @ np.linalg.lstsq(root[:, None] * design, root * off, rcond=None)[0]
    assert model.freedom == 6
    assert model.fitted(0.2)[0] == pytest.approx(left @ left)
