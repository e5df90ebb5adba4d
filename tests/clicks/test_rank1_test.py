"""The rank-1 check: right statistic, level kept on rank-1 tables of every kind, power where rank 1 fails."""

import math

import numpy as np
import polars as pl
import pytest

import rankone
from rankone import clicks
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.clicks.rank1_test.two_factors import check_two
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from tests.oracles.rank_one import slow_statistic

# rows, columns, mean outcomes a pair (Poisson: some have none), lowest and highest rate of a line
RANK_ONE = {
    "plenty": (4, 4, 100, 0.4, 0.9),
    "small rates": (5, 5, 100, 0.03, 0.2),
    "rates near 1": (4, 4, 30, 0.95, 1.0),
    "sparse, with missing pairs": (6, 5, 2, 0.3, 0.95),
    "two by two": (2, 2, 20, 0.3, 0.95),
}


def random_table(case, rng):
    n_rows, n_cols, mean, low, high = RANK_ONE[case]
    rates = np.outer(rng.uniform(low, high, n_rows), rng.uniform(low, high, n_cols))
    pulls = rng.poisson(mean, rates.shape)
    return pulls, rng.binomial(pulls, rates)


@pytest.mark.parametrize("case", RANK_ONE)
def test_statistic_is_that_of_a_general_optimiser(case):
    rng = generator(1, case)
    for _ in range(3):
        table = random_table(case, rng)
        found = check_two(as_factor_counts(table), 0, rng)
        assert found.statistic == pytest.approx(slow_statistic(*table), abs=5e-3)


@pytest.mark.parametrize("case", RANK_ONE)
def test_level_holds(case):
    """At 5%, rejections of rank-1 tables stay within three standard errors; and p-values do not pile up at 1."""
    tables = 80
    rng = generator(2, case)
    found = [check_two(as_factor_counts(random_table(case, rng)), 199, rng) for _ in range(tables)]
    p_values = np.array([check.p_value for check in found])
    standard_error = math.sqrt(0.05 * 0.95 / tables)
    assert np.mean(p_values <= 0.05) <= 0.05 + 3.0 * standard_error
    assert np.mean(p_values <= 0.5) >= 0.5 - 4.0 * math.sqrt(0.25 / tables)


def test_power_against_sums_and_interactions():
    rng = generator(3, "power")
    lines = np.array([0.8, 0.6, 0.4, 0.2])
    interaction = np.outer(lines, lines)
    interaction[3, 3] += 0.25
    for rates in ((lines[:, None] + lines) / 2.0, interaction):
        pulls = np.full(rates.shape, 500)
        clicked = rng.binomial(pulls, rates)
        report = rankone.check_rank1((pulls, clicked), simulations=199)
        assert report.p_value == 1 / 200, "as small as so many simulations can say"
        assert report.doubtful
        assert ("seem to interact" in report.sentence) != report.misfit.costs_little, "the corner is the best of both"
    farthest = report.checks[0].cells.row(0, named=True)
    assert (farthest["row"], farthest["col"]) == ("row 4", "col 4"), "the pair that was changed"
    assert farthest["deviation"] > 3.0


def test_what_is_called_visible_is_seen_four_times_of_five():
    rng = generator(4, "visible")
    rates = np.outer(rng.uniform(0.3, 0.8, 5), rng.uniform(0.3, 0.8, 6))
    pulls = np.full(rates.shape, 150)
    visible = check_two(as_factor_counts((pulls, rng.binomial(pulls, rates))), 400, rng).visible
    seen = 0
    for _ in range(60):
        off = rates * (1.0 + visible * rng.choice([-1.0, 1.0], rates.shape))
        seen += check_two(as_factor_counts((pulls, rng.binomial(pulls, off))), 99, rng).p_value <= 0.05
    assert abs(seen / 60 - 0.8) <= 3.0 * math.sqrt(0.8 * 0.2 / 60)
    many = check_two(as_factor_counts((100 * pulls, rng.binomial(100 * pulls, rates))), 100, rng).visible
    assert many == pytest.approx(visible / 10.0, rel=0.3)


@pytest.mark.parametrize("shown", [[[50, 60, 70]], [[50], [60]], [[50, 0], [0, 60]]], ids=["row", "column", "apart"])
def test_nothing_to_test(shown):
    report = rankone.check_rank1((shown, np.array(shown) // 3))
    assert report.p_value is None
    assert not report.doubtful
    assert report.sentence.startswith("Nothing to test")
    report.chart()


def test_bounds_can_be_broken_without_a_rectangle():
    """Row 1 says that column 2 is examined at most 1 / 9 of the time, yet row 2 is clicked 90% of the time there."""
    report = rankone.check_rank1(([[500, 500], [0, 500]], [[450, 50], [0, 450]]), simulations=99)
    assert report.checks[0].constraints == 0
    assert report.p_value == 0.01
    fine = rankone.check_rank1(([[500, 500], [0, 500]], [[450, 400], [0, 300]]), simulations=99)
    assert fine.p_value == 1.0


@pytest.mark.parametrize("outcomes", [40, 10**7], ids=["few", "millions"])
@pytest.mark.parametrize("rate", [0, 1])
def test_no_clicks_and_nothing_but_clicks_are_rank_one(rate, outcomes):
    pulls = np.full((3, 4), outcomes)
    report = rankone.check_rank1((pulls, pulls * rate), simulations=50)
    assert report.p_value == 1.0
    assert "No sign of interaction" in report.sentence


def test_levels_at_the_bounds_are_there_exactly():
    """A row without a click, and pairs without a miss, beside others: rank 1, however many outcomes there are."""
    pulls = np.full((3, 3), 10**7)
    rates = np.outer([1.0, 0.5, 0.0], [1.0, 1.0, 0.25])
    found = check_two(as_factor_counts((pulls, (pulls * rates).astype(np.int64))), 0, generator(0))
    assert found.statistic < 1e-3
    fitted = {(cell["row"], cell["col"]): cell["rank_one_rate"] for cell in found.cells.to_dicts()}
    assert fitted["row 3", "col 1"] == 0.0
    assert fitted["row 1", "col 2"] == pytest.approx(1.0, abs=1e-12)
    few = np.full((3, 3), 50)
    check = check_two(as_factor_counts((few, np.rint(few * rates))), 60, generator(0))
    assert check.visible > 0.05, "fifty clicks of fifty do not show that a miss is impossible"


def test_progress_is_told_while_tables_are_simulated():
    told = []
    shown = np.full((3, 3), 100)
    rankone.check_rank1((shown, 100 * np.eye(3)), simulations=100, progress=lambda *done: told.append(done))
    assert told[-1] == (100, 100)
    assert told[:5] == [(20, 100), (40, 100), (60, 100), (80, 100), (100, 100)]


def test_queries_are_tested_one_by_one_and_judged_together():
    lines = np.array([0.8, 0.5, 0.3])
    good, bad = np.outer(lines, lines), np.full((3, 3), 0.2) + 0.5 * np.eye(3)
    names = [("good", "a"), ("good", "b"), ("good", "c"), ("bad", "a"), ("bad", "b"), ("bad", "c"), ("one", "a")]
    cells = [
        {"query": query, "item": item, "position": place + 1, "impressions": 400, "clicks": round(400 * rates[place])}
        for (query, item), rates in zip(names, [*good, *bad, [0.5, 0.2, 0.1]], strict=True)
        for place in range(3)
    ]
    report = rankone.check_rank1(clicks.Counts(pl.DataFrame(cells)), simulations=199)
    by_name = {check.name: check for check in report.checks}
    assert by_name["one"].p_value is None
    assert by_name["good"].p_value > 0.9
    assert [check.name for check in report.doubts] == ["bad"]
    assert report.p_value == pytest.approx(2 * by_name["bad"].p_value), "Holm: two queries could be tested"
    assert "seem to interact in 1 of 2 queries" in report.sentence
    assert report.summary()["name"].to_list() == [check.name for check in report.checks]
    assert report.to_dict()["checks"][0]["largest_deviations"]


def test_same_seed_same_p_value():
    table = random_table("plenty", generator(5))
    first, second, other = (rankone.check_rank1(table, simulations=50, seed=seed).p_value for seed in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize(
    ("wrong", "keywords"),
    [
        ("counts", {}),
        (([[1, 2]], [[1]]), {}),
        (([[1.5]], [[1]]), {}),
        (([[1]], [[2]]), {}),
        (([[0]], [[0]]), {}),
        (([["a"]], [[2]]), {}),
        (([[1]], [[1]]), {"level": 0}),
        (([[1]], [[1]]), {"simulations": 3}),
    ],
)
def test_wrong_input_is_a_sentence(wrong, keywords):
    with pytest.raises(InputError, match=r"Expected .*, but got .*. "):
        rankone.check_rank1(wrong, **keywords)
