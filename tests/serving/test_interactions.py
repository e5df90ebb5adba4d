"""Levels that act together: found where they do, rarely where not, whatever the site and the policy do."""

import dataclasses
import itertools

import numpy as np
import pytest

import rankone
from rankone.compiling.compiled import compiled
from rankone.kernels.together import count_all_together, start_together, widened_together
from rankone.kernels.watching import scattered, start_watch, watch_outcomes
from rankone.numerics.seeds import generator
from rankone.serving import Experiment
from rankone.serving.even_test import uniform_rate
from rankone.serving.interactions import strongest
from rankone.simulation.rehearsal import rehearse
from tests import dice as dice  # registers the policy
from tests.oracles.together import sums_of

SIZES = (2, 3, 2)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])
LEVELS = [np.arange(first, end) for first, end in itertools.pairwise(STARTS)]


def at_most(runs, level=0.05):
    """Return how many of the runs may be wrong at a level."""
    return runs * level + 3 * np.sqrt(runs * level * (1 - level))


def struck(together, scatter=1.0):
    """Return the first finding of an experiment if it is one."""
    living = [np.arange(first, end) for first, end in itertools.pairwise(together.starts)]
    found = strongest(together, living, scatter)
    return found[0] if found and found[0].p < 0.05 else None


def visits(rng, rates, visitors, mixes):
    """Outcomes of visitors who see each level of a factor with the chances in `mixes`; `rates` may have a row each."""
    levels = [rng.choice(size, visitors, p=mix) for size, mix in zip(SIZES, mixes, strict=True)]
    clicked = (rng.random(visitors) < rates(levels)).astype(np.int64)
    own = [np.asarray(mix)[level] for mix, level in zip(mixes, levels, strict=True)]
    crosses = np.concatenate(
        [
            np.prod([each for other, each in enumerate(own) if other != place], axis=0)[:, None] * np.asarray(mix)
            for place, mix in enumerate(mixes)
        ],
        axis=1,
    )
    return np.stack(levels, axis=1) + STARTS[:-1], clicked, crosses


def counted(found, together=None):
    together = together or start_together(SIZES)
    compiled(count_all_together, count_all_together.__module__)(together, *found)
    return together


MEANS = rankone.Product({"a": [0.8, 0.6], "b": [0.9, 0.6, 0.5], "c": [0.8, 0.7]}).means
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


def test_levels_that_come_and_go_are_allowed_for():
    """Where ratios of levels move from hour to hour clicks scatter more than coins do, and alarms know by how much."""
    rng, runs, false, bare = generator(3, "together"), 60, 0, 0
    for _ in range(runs):
        found = [[], [], []]
        for _ in range(60):
            hour = np.exp(rng.normal(0.0, 0.5, 2))

            def rates(levels, hour=hour):
                return 0.25 * MEANS[tuple(levels)] * hour[levels[0]]

            for part, each in zip(
                found, visits(rng, rates, 100, [[0.5, 0.5], [0.4, 0.3, 0.3], [0.5, 0.5]]), strict=True
            ):
                part.append(each)
        together = counted([np.concatenate(part) for part in found])
        watch = start_watch(SIZES)
        told = [np.concatenate(part) for part in found]
        compiled(watch_outcomes, watch_outcomes.__module__)(watch, *told, np.arange(len(told[1])))
        false += struck(together, scattered(watch)) is not None
        bare += struck(together) is not None
    assert false <= at_most(runs)
    assert bare > false


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
