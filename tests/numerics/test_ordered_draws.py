"""How probable it is that draws come in a certain order."""

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.numerics.betas import ordered_draws
from rankone.numerics.betas.ordered_draws import ordered_chances
from rankone.numerics.seeds import generator
from tests.oracles.list_chances import next_by_draws


def _entry(clicks, misses, rates, above, rest, of_above, of_rest):
    return ordered_chances(clicks, misses, rates, above, rest, of_above, of_rest)


def chances(clicks, misses, above, rest, run=None, rates=(1.0,)):
    of_above, of_rest = np.zeros(len(above)), np.zeros(len(rest))
    run = run or compiled(_entry, ordered_draws.__name__)
    table = np.array(misses, float).reshape(len(clicks), -1)
    items = (np.array(each, np.int64) for each in (above, rest))
    run(np.array(clicks, float), table, np.array(rates), *items, of_above, of_rest)
    return of_above, of_rest


@pytest.mark.parametrize(
    ("items", "positions", "looks"), [(4, 2, 20), (20, 5, 200), (20, 5, 5_000), (60, 5, 2), (30, 25, 3)]
)
def test_it_is_the_integral_of_its_definition(items, positions, looks):
    rng = generator(items, "ordered")
    pulls = rng.integers(looks // 2, looks + 1, items)
    clicks = rng.binomial(pulls, np.linspace(0.3, 0.05, items))
    ranked = np.argsort(-rng.beta(clicks + 1, pulls - clicks + 1))
    above, rest = ranked[: positions - 1], ranked[positions - 1 :]
    of_rest = chances(clicks, pulls - clicks, above, rest)[1]
    wanted = next_by_draws(clicks, pulls - clicks, above, rest)
    assert of_rest.sum() == pytest.approx(1.0, abs=1e-12)
    few = looks * 10 < items * positions  # many draws from hardly anything: their order turns on the ends of [0, 1]
    assert of_rest == pytest.approx(wanted, rel=3e-3 if few else 3e-4, abs=1e-6)
    plain = chances(clicks, pulls - clicks, above, rest, run=_entry)[1]
    assert (plain == of_rest).all()


def test_two_betas_are_as_probable_as_the_closed_form_says():
    # P(Beta(2, 1) > Beta(1, 1)) = 2/3
    of_rest = chances([1, 0], [0, 0], [], [0, 1])[1]
    assert of_rest == pytest.approx([2 / 3, 1 / 3], rel=1e-4)
    assert chances([1, 0], [0, 0], [0], [1])[0] == pytest.approx([2 / 3], rel=1e-4)


@pytest.mark.parametrize(("items", "positions", "looks"), [(8, 3, 200), (20, 5, 5_000), (20, 5, 200)])
def test_the_whole_list_is_as_frequent_as_draws_say(items, positions, looks):
    rng = generator(looks, "frequent")
    clicks = rng.binomial(looks, np.linspace(0.3, 0.1, items))
    wanted = np.arange(positions)
    of_above, _ = chances(clicks, looks - clicks, wanted, np.arange(positions, items))
    met, rounds, size = 0, 20, 50_000
    for _ in range(rounds):
        draws = rng.beta(clicks + 1, looks - clicks + 1, (size, items))
        met += (np.argsort(-draws, axis=1)[:, :positions] == wanted).all(axis=1).sum()
    joint, count = of_above.prod(), rounds * size
    assert abs(met / count - joint) < 4 * np.sqrt(joint * (1 - joint) / count) + 1e-9


def test_equal_items_are_equally_probable_and_a_little_more_data_changes_a_little():
    for items in (3, 300):
        of_above, of_rest = chances([1] * items, [3] * items, [0, 1], range(2, items))
        assert of_above == pytest.approx([1 / items, 1 / (items - 1)], rel=1e-3)
        assert of_rest == pytest.approx(np.full(items - 2, 1 / (items - 2)), rel=1e-3)
    before, after = (chances([50 + more, 40, 30], [200, 200, 200], [0], [1, 2])[1] for more in (0.0, 1e-6))
    assert before == pytest.approx(after, abs=1e-7)


def test_a_posterior_at_several_rates_is_that_of_its_draws():
    from rankone.numerics.betas.product_posterior import HULL, draw_factor, make_hull

    clicks, misses, rates = [9.0, 4.0, 2.0], np.array([[20.0, 9, 3], [6, 2, 30], [0, 0, 14]]), np.array([1.0, 0.5, 0.2])
    of_above, of_rest = chances(clicks, misses, [1], [0, 2], rates=rates)
    rng, first, second, count = generator(5, "rates"), 0, 0, 40_000
    hulls = np.zeros((3, HULL))
    for item in range(3):
        make_hull(clicks[item], misses[item], rates, hulls[item])
    for _ in range(count):
        draws = [draw_factor(clicks[item], misses[item], rates, hulls[item], rng) for item in range(3)]
        if int(np.argmax(draws)) == 1:
            first += 1
            second += draws[0] > draws[2]
    assert abs(first / count - of_above[0]) < 4 * np.sqrt(0.25 / count)
    assert abs(second / first - of_rest[0]) < 4 * np.sqrt(0.25 / first)
