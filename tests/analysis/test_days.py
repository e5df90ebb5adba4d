"""Days in a table: their effects, what levels do on single days, and statements on many levels that hold together."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import rankone
from rankone.analysis import page
from rankone.analysis.interactions import check_counts
from rankone.analysis.product.best import level_bounds, ratio_contrast
from rankone.analysis.product.day_effects import DayVariance, fit_days
from rankone.analysis.product.intervals import Intervals
from rankone.clicks.counts.dispersion import BINOMIAL, Dispersion
from rankone.clicks.counts.factor_counts import as_factor_counts
from rankone.numerics.product_fit import Design
from rankone.numerics.seeds import generator


def by_day(rng, n_days, sizes=(3, 2), alone=0.0, shown=3000, names="hi"):
    """A table of equal levels: days differ, shares move with them, and levels have days of their own."""
    site = 0.05 * np.exp(rng.normal(0.0, 0.4, n_days))
    own = [np.exp(rng.normal(0.0, alone, (n_days, size))) for size in sizes]
    rows = []
    for day, *places in itertools.product(range(n_days), *map(range, sizes)):
        often = rng.poisson(shown * math.exp(sum(places) * (2.0 * day / n_days - 1.0)))
        rate = site[day] * math.prod(each[day, place] for each, place in zip(own, places, strict=True))
        levels = {name: f"{name}{place}" for name, place in zip(names, places, strict=False)}
        rows.append({**levels, "day": f"d{day:02}", "shown": often, "clicked": rng.binomial(often, min(rate, 1.0))})
    return pl.DataFrame(rows)


MOVING = pl.DataFrame(  # on each day A and B are clicked the same; B is shown more on the good one
    {"page": ["A", "B", "A", "B"], "day": ["Mon", "Mon", "Tue", "Tue"], "shown": [9000, 1000, 1000, 9000],
     "clicked": [450, 50, 100, 900]}
)  # fmt: skip


def test_a_level_that_was_shown_on_good_days_is_not_the_best():
    assert rankone.analyse(MOVING.drop("day")).candidates == {"page": ["B"]}
    found = rankone.analyse(MOVING)
    assert found.candidates == {"page": ["A", "B"]}
    assert found.levels["ratio"].to_list() == pytest.approx([1.0, 1.0], abs=1e-4)
    assert found.rate.value == pytest.approx(0.075, rel=1e-3)  # as many visitors came on either day
    assert found.combinations["average_day"].to_list() == pytest.approx([0.075, 0.075], rel=1e-2)
    text = f"{found}\n{found.details}"
    assert "is ahead, not proven yet: " in text
    assert "Assumes: a random split on each day (shares and click rates may move from day to day)" in text
    assert "2 days are too few to tell how much noisier than chance real traffic is" in text
    assert "column of days" not in text


def test_weeks_are_called_weeks():
    found = rankone.analyse(MOVING.rename({"day": "Week starting"}))
    text = f"{found}\n{found.details}"
    assert "2 weeks are too few" in text
    assert "a random split in each week" in text
    assert "in an average week" in text
    assert "day" not in text


def test_days_of_the_week_are_called_days():
    found = rankone.analyse(MOVING.rename({"day": "Day of week"}), slice="Day of week")
    assert "a random split on each day" in str(found)
    assert "week to week" not in str(found)


def test_levels_that_do_not_move_are_not_said_to():
    """Clicks exactly in proportion: less scatter than chance makes, and none of a level's own."""
    rows = [
        {"page": page, "day": f"d{day}", "shown": 2_000, "clicked": clicks}
        for day in range(9)
        for page, clicks in (("A", 100), ("B", 80), ("C", 60))
    ]
    text = rankone.analyse(pl.DataFrame(rows)).details
    assert "Day-to-day noise is normal" in text
    assert "moves on its own" not in text


def test_levels_that_never_met_on_a_day_are_not_compared():
    apart = pl.DataFrame({"page": ["A", "B"], "day": ["Mon", "Tue"], "shown": [900, 900], "clicked": [30, 90]})
    found = rankone.analyse(apart)
    assert found.groups == {"page": [["A"], ["B"]]}
    assert "page: cannot compare 'A' with 'B', because too few were shown on the same days" in str(found)


def test_a_product_is_tested_within_days():
    """On each day all pairs are clicked the same. Pooled, the one that was shown on the good day seems to interact."""
    rows = [
        (headline, image, day, often, round(rate * often))
        for day, rate in (("Mon", 0.05), ("Tue", 0.10))
        for headline, image in itertools.product("AB", "12")
        for often in [18_000 if (headline + image == "B2") == (day == "Tue") else 2_000]
    ]
    table = pl.DataFrame(rows, ["headline", "image", "day", "shown", "clicked"], orient="row")
    assert rankone.analyse(table.drop("day"), simulations=99).doubtful
    found = rankone.analyse(table, simulations=99)
    assert not found.doubtful
    assert not check_counts(found.counts, simulations=99).doubtful


def test_effects_and_variances_are_those_of_one_large_regression():
    """The slow twin: a column for every level and every day, matrices written out."""
    rng = generator(1, "twin")
    counts = as_factor_counts(by_day(rng, 6, alone=0.2))
    days, dispersion = fit_days(counts), Dispersion(1.3, 50.0, "slices")
    design = Design.of(counts.cells, counts.sizes, days.exposure, counts.clicked)
    x, slices = design.maximise().x, counts.slices
    variance = DayVariance(design, days, design.rates(x), dispersion)
    rows = np.zeros((len(slices.cell), 5 + 6))
    for place, levels in enumerate(design.levels[slices.cell]):
        rows[place, [*levels, 5 + slices.when[place]]] = 1.0
    rates = design.rates(x)[slices.cell] * days.effect[slices.when]
    assert rows.T @ (slices.clicked - slices.shown * rates) == pytest.approx(0.0, abs=2.0)  # of 8,000 clicks
    weight = slices.shown * rates / (1.0 - rates)
    inverse = np.linalg.pinv(rows.T @ (weight[:, None] * rows), hermitian=True)
    meat = 0.0
    for factor, scatter in enumerate(variance.scatter):
        for level, day in itertools.product(np.unique(design.levels[:, factor]), range(6)):
            own = (design.levels[slices.cell, factor] == level) & (slices.when == day)
            score = rows.T @ (weight * own)
            meat = meat + scatter.sd**2 * np.outer(score, score)
    clicks = np.bincount(slices.when, slices.shown * rates)
    for contrast, average in ((np.array([1.0, 0, -1, 0, 0]), 0.0), (np.array([0.0, 1, 0, 1, 0]), 1.0)):
        whole = np.concatenate([contrast, average * clicks / clicks.sum()])
        expected = max(1.3 * whole @ inverse @ whole, whole @ (inverse + inverse @ meat @ inverse) @ whole)
        assert variance.variance(contrast) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("alone", [0.0, 0.3])
def test_what_levels_do_on_single_days_is_found(alone):
    counts = as_factor_counts(by_day(generator(2, "alone"), 60, (4, 3), alone))
    scatter = Intervals.of(counts, BINOMIAL).by_day.scatter
    assert [each.freedom for each in scatter] == [3 * 59, 2 * 59]
    for each in scatter:
        assert each.sd == pytest.approx(alone, abs=0.06)


def test_scatter_from_day_to_day_is_said_and_a_given_dispersion_overrules_it():
    table = by_day(generator(3, "said"), 8, alone=0.3)
    found = rankone.analyse(table, simulations=20)
    assert "From day to day a level's rate moves on its own by about " in found.details
    assert found.to_dict()["days"] == 8
    assert found.to_dict()["day_scatter"] == found.day_scatter
    given = rankone.analyse(table, dispersion=1.0, simulations=20)
    assert given.day_scatter == {}
    assert (given.levels["high"] - given.levels["low"]).sum() < (found.levels["high"] - found.levels["low"]).sum()


def test_the_report_has_what_makes_the_answer_again(tmp_path):
    found = rankone.analyse(by_day(generator(4, "again"), 8), simulations=20)
    (tmp_path / "days.csv").write_text(page._files(found)["days.csv"])
    recipe = page._recipe(found)
    assert "rankone.analyse(\"days.csv\", factors=['h', 'i'], slice='slice')" in recipe
    again = rankone.analyse(tmp_path / "days.csv", factors=["h", "i"], slice="slice", simulations=20)
    assert again.levels.sort("level").equals(found.levels.sort("level"))


def levels_of(logs):
    """Bounds of one factor whose levels have these log rates."""
    clicks = 10_000.0 * np.exp(logs)
    design = Design.of(np.arange(len(clicks))[:, None], (len(clicks),), np.full(len(clicks), 1e7), clicks)
    return level_bounds(Intervals(design, BINOMIAL), 0.05)[0]


def test_twelve_levels_that_differ_as_chance_makes_them_are_all_kept():
    """The highest of twelve is easily three standard errors (of 0.0141) from the lowest."""
    spread = np.linspace(0.0, 3.1 * math.sqrt(2e-4), 12)
    assert (levels_of(spread).high >= 1.0).all()
    assert (levels_of(2.0 * spread).high < 1.0).any()


def test_levels_that_are_out_leave_their_doubt_to_the_rest():
    """Two of four are hopeless: the others are 2.5 standard errors apart, which all four together would not settle."""
    apart = 2.5 * math.sqrt(2e-4)
    found = levels_of(np.array([apart, 0.0, -2.0, -2.0]))
    assert (found.high >= 1.0).tolist() == [True, False, False, False]
    assert found.doubt == pytest.approx(0.025 / 3.0)
    assert (levels_of(np.array([apart, 0.0, 0.5 * apart, 0.5 * apart])).high >= 1.0).all()


def test_contrasts_of_a_large_table_by_day_have_the_same_bounds_from_the_curvature():
    counts = as_factor_counts(by_day(generator(5, "large"), 30, alone=0.05, shown=30_000))
    found = Intervals.of(counts, BINOMIAL)
    contrast = ratio_contrast(5, 0, 2)
    assert found.upper_by_curvature(0, 0.01)[0, 2] == pytest.approx(found.upper(contrast, 0.01), abs=0.01)
