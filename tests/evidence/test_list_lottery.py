"""How live lists are drawn, and how probable each item was."""

import itertools

import numpy as np
import pytest

from rankone import as_policy
from rankone.compiling.compiled import compiled
from rankone.evidence.list_chances import EXPLORE, GENTLE, OWN, chances_at
from rankone.evidence.list_lottery import draw_list, start_lottery
from rankone.kernels.policy import believe, decide, learn
from rankone.numerics.seeds import generator
from tests.oracles.list_chances import gentle_lists

ITEMS, POSITIONS = 5, 3
POLICIES = ["cascade-ts", "toprank:horizon=1000", "random-list", "pbm-ts:examination=1x0.6x0.3", "gibbs-ts"]
MIXED = [0.4, 0.3, 0.2, 0.1]
draw = compiled(draw_list, draw_list.__module__)


def lottery_of(spec, shares, lists=30):
    """A lottery after some lists of a policy; for gibbs-ts the first in which position 1 is looked at most."""
    state, rng = as_policy(spec).start(ITEMS, POSITIONS), generator(2, spec)
    rates, shown = np.linspace(0.4, 0.1, ITEMS), np.zeros(POSITIONS, np.int64)
    for _ in range(lists):
        tag = decide(state, np.zeros(0), rng, shown)
        learn(state, shown, tag, (rng.random(POSITIONS) < rates[shown] * [1.0, 0.6, 0.3]).astype(np.int64))
    belief = believe(state, rng)
    while (np.diff(belief.positions) < 0).any():
        belief = believe(state, rng)
    return start_lottery(belief, np.arange(ITEMS)[::-1].copy(), np.array(shares, float), POSITIONS)


def all_lists(allowed, pinned):
    for chosen in itertools.permutations(np.flatnonzero(allowed), int((pinned < 0).sum())):
        rest = iter(chosen)
        yield np.array([each if each >= 0 else next(rest) for each in pinned])


def probability(lottery, allowed, pinned, shown):
    product, cross = 1.0, np.zeros(ITEMS)
    for position in range(len(shown)):
        if product and chances_at(lottery, allowed, pinned, shown, EXPLORE, position, cross):
            assert cross.sum() == pytest.approx(1.0, abs=1e-12)
            product *= cross[shown[position]]
    return product


@pytest.mark.parametrize("spec", POLICIES)
@pytest.mark.parametrize("asked", ["all", "pins", "short"])
def test_lists_are_as_frequent_as_said_and_the_probabilities_of_all_add_up_to_1(spec, asked):
    lottery = lottery_of(spec, [1.0, 0, 0, 0] if asked == "all" else MIXED)
    allowed, pinned = np.ones(ITEMS, bool), np.full(POSITIONS, -1)
    if asked == "pins":
        allowed[4], pinned[1] = False, 4
    if asked == "short":
        allowed[[0, 3]], pinned = False, np.full(2, -1)
    said = {tuple(each): probability(lottery, allowed, pinned, each) for each in all_lists(allowed, pinned)}
    assert sum(said.values()) == pytest.approx(1.0, abs=1e-9)
    rng, count, met = generator(4, "draws"), 10_000, dict.fromkeys(said, 0)
    shown, chances = np.zeros(len(pinned), np.int64), np.zeros(len(pinned))
    for _ in range(count):
        draw(lottery, np.zeros(POSITIONS, np.int64), allowed, pinned, rng, shown, chances)
        met[tuple(shown)] += 1
        assert chances.prod() == pytest.approx(said[tuple(shown)], rel=1e-4, abs=1e-9)
    often = [each for each in said if said[each] * count >= 5]
    wanted = np.array([count * said[each] for each in often])
    off = np.array([met[each] for each in often]) - wanted
    assert (off**2 / wanted).sum() < len(often) + 4 * np.sqrt(2 * len(often))


def test_gentle_lists_have_one_stranger():
    lottery = lottery_of("cascade-ts", np.eye(4)[GENTLE])
    present = lottery.present.tolist()
    wanted = gentle_lists(present[:POSITIONS], present[POSITIONS:])
    allowed, pinned = np.ones(ITEMS, bool), np.full(POSITIONS, -1)
    for each in all_lists(allowed, pinned):
        assert probability(lottery, allowed, pinned, each) == pytest.approx(wanted.get(tuple(each), 0.0), abs=1e-12)
    allowed[present[POSITIONS:]] = False
    assert probability(lottery, allowed, pinned, np.array(present[:POSITIONS])) == 1.0


def test_a_policy_without_a_belief_shows_what_it_decides_and_other_lists_are_judged_among_each_other():
    lottery = start_lottery(None, np.arange(ITEMS), np.array([0.5, 0.5, 0.0, 0.0]), POSITIONS)
    allowed, pinned, own = np.ones(ITEMS, bool), np.full(POSITIONS, -1), np.array([3, 1, 2])
    rng, shown, chances, kinds = generator(1, "own"), np.zeros(POSITIONS, np.int64), np.zeros(POSITIONS), set()
    for _ in range(20):
        kind = draw(lottery, own, allowed, pinned, rng, shown, chances)
        kinds.add(kind)
        assert chances.tolist() == ([-1.0] * 3 if kind == OWN else pytest.approx([1 / 5, 1 / 4, 1 / 3]))
        assert kind != OWN or shown.tolist() == own.tolist()
        assert chances_at(lottery, allowed, pinned, shown, kind, 1, np.zeros(ITEMS)) == (kind != OWN)
    assert kinds == {OWN, EXPLORE}


def test_an_order_of_positions_that_is_not_the_order_of_reading_is_not_said():
    state, rng = as_policy("cascade-ts:order=worst-first").start(ITEMS, POSITIONS), generator(1, "worst")
    lottery = start_lottery(believe(state, rng), np.arange(ITEMS), np.array([1.0, 0, 0, 0]), POSITIONS)
    shown, chances = np.zeros(POSITIONS, np.int64), np.zeros(POSITIONS)
    draw(lottery, shown.copy(), np.ones(ITEMS, bool), np.full(POSITIONS, -1), rng, shown, chances)
    assert (chances == -1.0).all()


@pytest.mark.parametrize("spec", POLICIES)
def test_positions_that_are_not_to_be_learned_are_skipped(spec):
    state, same = (as_policy(spec).start(ITEMS, POSITIONS) for _ in range(2))
    tag = 0
    learn(state, np.array([2, -1, 4]), tag, np.array([0, 0, 0]))
    before = believe(same, generator(1, "skip"))
    after = believe(state, generator(1, "skip"))
    assert after.misses[[0, 1, 3]].tolist() == before.misses[[0, 1, 3]].tolist()
    learn(state, np.array([-1, -1, -1]), tag, np.array([0, 1, 0]))
    assert believe(state, generator(1, "skip")).clicks.tolist() == before.clicks.tolist()
