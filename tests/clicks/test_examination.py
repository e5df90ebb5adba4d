"""Examination from items that moved, which positions the data link, and swaps that link them: with known truth."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import rankone
from rankone import clicks
from rankone.cli import build_app
from rankone.clicks.counts.count_arrays import cells_of
from rankone.clicks.examination.intervention_harvesting import harvest
from rankone.errors import InputError
from rankone.kernels.policy import chance
from rankone.numerics.seeds import generator
from tests.oracles import all_pairs as slow

EXAMINED = 1.0 / np.arange(1, 6) ** 0.8
ATTRACTION = np.array([0.6, 0.5, 0.35, 0.3, 0.2])


def counts_of(shown, clicked):
    item, place = np.nonzero(shown)
    return clicks.Counts(
        pl.DataFrame(
            {
                "query": "q", "item": [f"{number:04}" for number in item], "position": place + 1,
                "impressions": shown[item, place], "clicks": clicked[item, place],
            }
        )
    )  # fmt: skip


def swapped_lists(rng, rates, lists):
    """Impressions of five items around one list, as the policy shows them."""
    swaps = rng.multinomial(lists, [*rates, 1.0 - sum(rates)])[:-1]
    shown = np.diag(np.full(5, lists))
    for place, number in enumerate(swaps):
        for item, other in ((place, place + 1), (place + 1, place)):
            shown[item, item] -= number
            shown[item, other] += number
    return shown


def world(kind, rng):
    """Impressions and attractions of one log."""
    if kind == "few items, many impressions":
        return np.full((6, 5), 200), np.array([0.6, 0.4, 0.3, 0.2, 0.1, 0.5])
    if kind == "many items, few impressions":
        shown, first = np.zeros((600, 5), int), rng.integers(4, size=600)
        shown[np.arange(600), first], shown[np.arange(600), first + 1] = 3, 2
        return shown, rng.uniform(0.05, 0.9, 600)
    if kind == "swaps of neighbours":
        return swapped_lists(rng, [0.02] * 4, 20_000), ATTRACTION
    return rng.poisson(rng.gamma(0.3, 20.0, (80, 5))), rng.uniform(0.02, 0.6, 80)


@pytest.mark.parametrize(
    "kind", ["few items, many impressions", "many items, few impressions", "swaps of neighbours", "all kinds of items"]
)
def test_intervals_of_all_pairs_hold_the_truth_as_often_as_they_say(kind):
    """95%, within 4 standard errors; positions of one log depend on each other, so a log counts as one."""
    runs, held, apart = 200, [], []
    for run in range(runs):
        rng = generator(run, kind)
        shown, attraction = world(kind, rng)
        found = harvest(cells_of(counts_of(shown, rng.binomial(shown, np.outer(attraction, EXAMINED))), 0, False))
        away = (found.log_curve - np.log(EXAMINED))[1:] / found.error[1:]
        held.append(np.mean(np.abs(away) < 1.96))
        apart.append(away)
    assert abs(np.mean(held) - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / runs)
    assert abs(np.mean(apart)) < 4.0 / np.sqrt(runs) + 0.1  # no bias to speak of


def test_all_pairs_agrees_with_loops_over_cells():
    rng = generator(1, "loops")
    shown = rng.integers(20, 60, (4, 3))
    clicked = rng.binomial(shown, np.outer([0.6, 0.5, 0.3, 0.2], [1.0, 0.6, 0.5]))
    found = harvest(cells_of(counts_of(shown, clicked), 0, False))
    curve = found.log_curve.tolist()
    pairs = list(combinations(range(3), 2))
    assert found.pairs.tolist() == [list(pair) for pair in pairs]
    errors = {}
    for number, (k, m) in enumerate(pairs):
        assert np.exp(found.log_ratio[number]) == pytest.approx(slow.ratio(shown, clicked, k, m), rel=1e-12)

        def log_ratio(some, k=k, m=m):
            return np.log(slow.ratio(shown, some, k, m))

        errors[k, m] = slow.moved(log_ratio, clicked, shown, curve)
        assert found.pair_error[number] ** 2 == pytest.approx(errors[k, m], rel=1e-4)
    assert curve == pytest.approx(slow.log_curve(shown, clicked, errors), abs=1e-3)
    for place in (1, 2):
        expected = slow.moved(
            lambda some, place=place: slow.log_curve(shown, some, errors)[place], clicked, shown, curve
        )
        assert found.error[place] ** 2 == pytest.approx(expected, rel=1e-2)


def test_both_methods_say_the_same_where_there_is_much_data():
    rng = generator(2, "much")
    shown = np.full((6, 5), 50_000)
    counts = counts_of(shown, rng.binomial(shown, np.outer([0.6, 0.4, 0.3, 0.2, 0.1, 0.5], EXAMINED)))
    by_pairs, by_likelihood = (
        clicks.examination_curve(counts, method=method) for method in ("all-pairs", "likelihood")
    )
    assert by_pairs.table["examination"].to_numpy() == pytest.approx(
        by_likelihood.table["examination"].to_numpy(), rel=0.01
    )
    assert by_pairs.components == [[1, 2, 3, 4, 5]]
    assert by_pairs.links.height == 10


def test_what_nothing_links_is_said():
    shown = np.array([[90, 90, 0, 0], [0, 0, 90, 0], [0, 0, 90, 90]])
    for method in ("likelihood", "all-pairs"):
        curve = clicks.examination_curve(counts_of(shown, shown // 3), method=method)
        assert sorted(curve.components) == [[1, 2], [3, 4]]
        assert "No item links these groups of positions" in str(curve)
        assert curve.links.select("position", "other").rows() == [(1, 2), (3, 4)]


def test_a_link_without_clicks_compares_nothing():
    shown = np.array([[90, 90]])
    curve = clicks.examination_curve(counts_of(shown, np.array([[9, 0]])), method="all-pairs")
    assert curve.components == [[1], [2]]
    assert curve.links["ratio"].to_list() == [None]


def test_the_policy_shows_lists_as_often_as_it_says():
    policy = rankone.as_policy("swap-neighbours:items=3x0x2,rates=0.1x0.3")
    agent = policy.agent(5, 3, seed=1)
    times: dict[tuple[int, ...], int] = {}
    for _ in range(2_000):
        decision = agent.ask()
        times[decision.shown] = times.get(decision.shown, 0) + 1
        agent.tell(decision, [0, 0, 0])
    expected = {(3, 0, 2): 0.6, (0, 3, 2): 0.1, (3, 2, 0): 0.3}
    assert times.keys() == expected.keys()
    for shown, share in expected.items():
        assert chance(agent.state, np.array(shown)) == pytest.approx(share)
        assert abs(times[shown] / 2_000 - share) < 4.0 * np.sqrt(share * (1.0 - share) / 2_000)
    for never in ((2, 0, 3), (0, 2, 3), (3, 0, 4), (3, 2, 2)):
        assert chance(agent.state, np.array(never)) == 0.0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("swap-neighbours:items=0x1", "3 different items"),
        ("swap-neighbours:items=0x1x1", "3 different items"),
        ("swap-neighbours:items=0x1x9", "at most 4"),
        ("swap-neighbours:rates=0.5", "2 probabilities"),
        ("swap-neighbours:rates=0.7x0.7", "2 probabilities"),
        ("swap-neighbours:rates=-0.1x0.7", "2 probabilities"),
    ],
)
def test_swaps_that_make_no_sense_are_refused(spec, said):
    with pytest.raises(InputError, match=said):
        rankone.as_policy(spec).start(5, 3)


def test_the_command_tells_the_curve(tmp_path):
    shown = np.diag(np.full(5, 20_000))
    today = counts_of(shown, generator(3, "today").binomial(shown, np.diag(ATTRACTION * EXAMINED)))
    today.cells.write_csv(tmp_path / "counts.csv")
    done = CliRunner().invoke(build_app(), ["examination", str(tmp_path / "counts.csv"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["curve"]["components"] == [[1], [2], [3], [4], [5]]
    with pytest.raises(InputError, match="level"):
        clicks.examination_curve(today, level=2)
    with pytest.raises(InputError, match="method as one of"):
        clicks.examination_curve(today, method="guess")


def test_thin_items_choose_the_method():
    """With a click or so of each item its attraction cannot be fitted; the answer says what was done instead."""
    rng = generator(4, "thin")
    for impressions, method in ((5, "all-pairs"), (200, "likelihood")):
        item = np.repeat(np.arange(6_000 // impressions), impressions)
        position = rng.integers(1, 4, size=len(item))
        clicked = (rng.random(len(item)) < 0.5 / position).astype(int)
        log = pl.DataFrame({"item": item, "position": position, "clicked": clicked})
        counts = clicks.count(log, item="item", position="position", clicked="clicked")
        curve = clicks.examination_curve(counts)
        assert curve.method == method
        assert ("too few to fit each: method all-pairs" in repr(curve)) == (method == "all-pairs")
        chosen = clicks.examination_curve(counts, method=method)
        assert chosen.table.equals(curve.table)
        assert chosen.choice == ""
        found = clicks.propensities(log)
        assert found.to_dict()["method"] == method
        assert ("method all-pairs" in repr(found)) == (method == "all-pairs")
