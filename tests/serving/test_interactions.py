"""Levels that act together: found where they do, rarely where not, whatever the site and the policy do."""

import dataclasses
import itertools

import numpy as np
import pytest

import rankone
from rankone.kernels.together import widened_together
from rankone.kernels.watching import scattered
from rankone.numerics.seeds import generator
from rankone.serving import Experiment
from rankone.serving.even_test import uniform_rate
from rankone.serving.interactions import strongest
from rankone.simulation.rehearsal import rehearse
from tests import dice as dice  # registers the policy
from tests.oracles.together import sums_of
from tests.serving.together_worlds import MEANS, STARTS, allowance, counted, drifting, scattering, struck, visits

LEVELS = [np.arange(first, end) for first, end in itertools.pairwise(STARTS)]


def at_most(runs, level=0.05):
    """Return how many of the runs may be wrong at a level."""
    return runs * level + 3 * np.sqrt(runs * level * (1 - level))


UNEVEN = [[0.9, 0.1], [0.2, 0.5, 0.3], [0.35, 0.65]]


def test_it_counts_what_its_slow_twin_does():
    found = visits(generator(0, "together"), lambda levels: MEANS[tuple(levels)], 300, UNEVEN)
    together = counted(found)
    for x, y, z in itertools.permutations(range(STARTS[-1]), 3):
        if together.pairs[x, y] >= 0:
            expected = sums_of(STARTS, *(each.tolist() for each in found), x, y, z)
            inside = [z in levels and x in levels for levels in LEVELS]
            assert together.sums[together.pairs[x, y], z].tolist() == pytest.approx([0, 0] if any(inside) else expected)


def test_more_levels_and_factors_keep_what_is_known():
    rng = generator(1, "together")
    together = counted(visits(rng, lambda levels: MEANS[tuple(levels)], 300, UNEVEN))
    wide = widened_together(together, (2, 4, 2, 3))
    old = np.array([0, 1, 2, 3, 4, 6, 7])
    for x, y in np.argwhere(together.pairs >= 0):
        kept = wide.sums[wide.pairs[old[x], old[y]]]
        assert np.array_equal(kept[old], together.sums[together.pairs[x, y]])
        assert kept.sum() == pytest.approx(together.sums[together.pairs[x, y]].sum())
    assert widened_together(together, (500, 3, 2)).sums.size == 0


@pytest.mark.parametrize(("goal", "site"), [("earn", "doubled"), ("both", "doubled"), ("both", "trend")])
def test_none_are_made_up_while_the_whole_site_moves(goal, site):
    problem, runs = rankone.Product({"a": [0.3, 0.25, 0.2], "b": [0.5, 0.4], "c": [0.5, 0.4]}), 60
    found = rehearse(problem, goal=goal, site=site, visitors=8_000, runs=runs, after="weigh")
    assert sum(struck(each.together) is not None for each in found) <= at_most(runs)


def test_few_clicks_or_uneven_chances_strike_no_more_often():
    """Levels that are hardly ever shown, and beside which there are but a few clicks."""
    rng, runs = generator(2, "together"), 300
    false = 0
    for run in range(runs):
        mixes = [[0.97, 0.03], [0.9, 0.05, 0.05], [0.5, 0.5]] if run % 2 else UNEVEN
        false += struck(counted(visits(rng, lambda levels: 0.3 * MEANS[tuple(levels)], 4_000, mixes))) is not None
    assert false <= at_most(runs)


def test_a_planted_one_is_found_although_a_policy_chose():
    page = rankone.Product(
        {"a": [0.5, 0.45], "b": [0.5, 0.45, 0.4], "c": [0.6, 0.5]}, interactions={("a", "b"): {("a 2", "b 2"): 1.5}}
    )
    found = [struck(each.together) for each in rehearse(page, goal="decide", visitors=20_000, runs=20, after="weigh")]
    assert sum(each is not None and set(each.factors) == {0, 1} for each in found) >= 15


def test_scatter_within_some_clicks_is_allowed_for():
    """Where clicks of combinations scatter by some clicks at a time; without the allowance many would be struck."""
    rng, runs, allowed, bare = generator(3, "together"), 150, 0, 0
    for _ in range(runs):
        found = scattering(rng, 8_000, 40, 1.2)
        together = counted(found)
        allowed += struck(together, allowance(found)) is not None
        bare += struck(together) is not None
    assert allowed <= at_most(runs) < bare


def test_levels_have_to_keep_their_ratios():
    """The condition that reports name: a level that gains while the policy shifts looks like levels that act together."""
    rng, runs = generator(5, "together"), 40
    still, gains = (
        sum(
            struck(counted(found), allowance(found)) is not None
            for found in (drifting(rng, 20_000, times) for _ in range(runs))
        )
        for times in (1.0, 1.5)
    )
    assert still <= at_most(runs) < gains


def test_a_report_allows_for_the_scatter_of_all_eras(tmp_path):
    rng, factors = generator(4, "report"), {name: ["1", "2"] for name in "abc"}
    settings = {"policy": "test-dice", "explore": 0.5, "seed": 1}
    with Experiment("page", db=tmp_path / "live.db", durability="off", factors=factors, **settings) as page:
        for _ in range(100):
            hour = {each: rng.choice([0.05, 0.6]) for each in itertools.product("12", repeat=3)}
            page.tell_many((made, bool(rng.random() < hour[tuple(made.levels.values())])) for made in page.ask(60))
        before = page.report().interactions
        assert page.look(lambda fold: scattered(fold.weighing.watch)) > 1.2
        bare = page.look(lambda fold: strongest(fold.weighing.together, fold.weighing.levels_of_each()))
        assert bare[0].p < before[0].p < 1.0
        page.stop()
        page.resume()  # an era of its own
        assert page.report().interactions == before


def test_a_report_names_them_with_their_condition_and_a_restart_repeats_it(db):
    rng, factors = generator(3, "report"), {name: ["1", "2"] for name in "abc"}
    settings = {"policy": "test-dice", "explore": 0.5, "seed": 1}
    with Experiment("page", db=db, durability="off", factors=factors, **settings) as page:
        assert page.report().interactions == ()
        decisions = [each for _ in range(3) for each in page.ask(1_000)]
        page.tell_many(
            (each, bool(rng.random() < (0.5 if each.levels["a"] == each.levels["b"] else 0.25))) for each in decisions
        )
        report = page.report()
        pulls, clicks = page.look(lambda fold: (fold.pulls.copy(), fold.clicks.copy()))
        page.add_level("c", "3")
        page.retire_level("c", "2")
        wider = page.report()
    (first,) = [each for each in report.interactions if each.p < 0.05]
    assert set(first.levels) == {"a", "b"}
    assert first.times > 2.0
    assert first.levels["a"] == first.levels["b"] != first.other
    assert "seem to act together: with" in report.sentence
    assert (
        "whatever the click rate of the whole site does, if each level keeps its ratio to the others" in report.sentence
    )
    assert "at all times and outcomes of all levels come back alike and equally soon);" in report.sentence
    assert "come back alike);" in dataclasses.replace(report, window=60.0).sentence
    assert report.even_clicks == pytest.approx(uniform_rate(pulls, clicks) * pulls.sum())
    assert "An even test of all combinations would have had about" in report.sentence
    assert type(report).of_dict(report.to_dict()) == report
    assert wider.interactions[0].levels == first.levels
    with Experiment("page", db=db) as again:
        assert again.report().interactions == wider.interactions


def test_an_even_test_shows_nothing_forbidden():
    pulls = np.full((2, 2), 1000)
    clicks = np.array([[400, 200], [200, 100]])
    assert uniform_rate(pulls, clicks, np.array([[0, 0]])) == pytest.approx(0.5 / 3)
    assert uniform_rate(pulls // 50, clicks // 50) is None
