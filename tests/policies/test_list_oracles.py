"""Policies on lists show the lists of their slow twins, list by list, on the same random numbers."""

import numba
import numpy as np
import pytest

import rankone
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.betas.product_posterior import draw_factor, make_hull
from rankone.numerics.seeds import generator
from tests.oracles import lists as slow
from tests.oracles.plain_lists import plain_lists

WORLDS = {  # click rates of each item at each position
    "cascade-like": np.outer([0.3, 0.3, 0.05, 0.05, 0.2, 0.05, 0.1], [1.0, 1.0, 1.0]),
    "rare": np.outer([0.02, 0.05, 0.01, 0.0, 0.03], [1.0, 0.5]),
    "certain": np.outer([1.0, 0.0, 1.0, 0.0], [1.0, 0.0]),
    "as many positions as items": np.outer([0.5, 0.1, 0.9], [0.3, 1.0, 0.6]),
    "one position": np.outer([0.2, 0.5, 0.4, 0.1], [1.0]),
    "never": np.zeros((6, 2)),
}
EXAMINATION = (0.9, 1.0, 0.4)


@numba.njit
def _factor(clicks, misses, rates, hull, rng):
    make_hull(clicks, misses, rates, hull)
    return draw_factor(clicks, misses, rates, hull, rng)


def factors(rng):
    return slow.factor_drawer(_factor, rng)


TWINS = {
    "cascade-kl-ucb": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.kl_index(0.0)),
    "cascade-kl-ucb:c=3,order=worst-first": lambda n, k, rng: slow.index_lists(
        n, range(k)[::-1], rng, slow.kl_index(3.0)
    ),
    "cascade-kl-ucb:until=last": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.kl_index(0.0), "last"),
    "dcm-kl-ucb:c=3": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.kl_index(3.0), "last"),
    "comb-cascade": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.comb_index, "miss"),
    "cascade-ts-gauss": slow.ts_cascade,
    "pie-l": lambda n, k, rng: slow.pie(n, k, rng, 1),
    "pbm-ucb": lambda n, k, rng: slow.pbm_ucb(n, EXAMINATION[:k], rng, 0.01),
    "bc-ts": lambda n, k, rng: slow.bc_ts(n, EXAMINATION[:k], rng, draw_beta.py_func),
    "pbm-ts": lambda n, k, rng: slow.pbm_ts(n, EXAMINATION[:k], factors(rng)),
    "gibbs-ts": lambda n, k, rng: slow.gibbs_ts(n, k, factors(rng)),
    "gibbs-ts:every=3": lambda n, k, rng: slow.gibbs_ts(n, k, factors(rng), every=3),
    "ranked-ts": lambda n, k, rng: slow.ranked_ts(n, k, rng, draw_beta.py_func),
    "swap-neighbours": lambda n, k, rng: slow.swap_neighbours(k, rng),
    "cascade-ucb1": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.ucb1_index),
    "cascade-ucb1:until=all": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.ucb1_index, "all"),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWINS)
def test_same_lists_as_the_slow_twin(name, world):
    rates = WORLDS[world]
    policy = rankone.as_policy(name).with_horizon(400).with_known({"examination": EXAMINATION[: rates.shape[1]]})
    agent = policy.agent(*rates.shape, seed=3)
    twin = TWINS[name](*rates.shape, generator(3, "agent", agent.policy.label))
    clicks, expected = generator(4, world), next(twin)
    for step in range(400):
        decision = agent.ask()
        assert decision.shown == expected, f"list {step}"
        clicked = [int(clicks.random() < rates[item, place]) for place, item in enumerate(expected)]
        agent.tell(decision, clicked if len(clicked) > 1 else clicked[0])
        expected = twin.send(clicked)


@pytest.mark.parametrize("feedback", [None, "delay:mean=20+batch:size=8"])
@pytest.mark.parametrize("label", ["cascade-kl-ucb", "cascade-kl-ucb:c=3,order=worst-first", "cascade-ucb1:until=last"])
def test_the_race_shows_what_the_plain_twin_shows(label, feedback):
    """Far into a run, with hundreds of items, at once and late: the same regret means the same lists."""
    for problem in ("cascade:300x5", "pbm-list:60x4:mean=0.06", "dcm:40x8:gap=0.05", "cascade:5x5"):
        studies = [
            rankone.simulate(problem, policy, 6_000, runs=1, workers=1, feedback=feedback, checkpoints=200)
            for policy in (label, plain_lists(label))
        ]
        one, other = (study.runs[0].regret for study in studies)
        assert one.tolist() == other.tolist(), problem


def test_pie_steps_in_where_it_is_told():
    rates = WORLDS["cascade-like"]
    _follow("pie-l:position=3", rates, lambda rng: slow.pie(*rates.shape, rng, 3), 300)


def test_pbm_pie_shows_what_its_slow_twin_shows():
    """The twin searches for the upper bound on a grid, where the kernel looks at a slope."""
    rates = np.outer([0.5, 0.4, 0.35, 0.1, 0.3], [0.4, 1.0])
    label = "pbm-pie:horizon=80,examination=0.4x1"
    _follow(label, rates, lambda rng: slow.pbm_pie(len(rates), (0.4, 1.0), rng, 80), 80)


def test_the_thompson_sampler_of_dependent_clicks_reads_on():
    """It is `cascade-ts` but for how far a list counts as read."""
    rates = WORLDS["cascade-like"]
    one, other = (rankone.as_policy(label).agent(*rates.shape) for label in ("dcm-ts", "cascade-ts:until=last"))
    one.rng, other.rng, clicks = generator(1, "same"), generator(1, "same"), generator(2, "clicks")
    for _ in range(500):
        first, second = one.ask(), other.ask()
        assert first.shown == second.shown
        clicked = [int(clicks.random() < rates[item, place]) for place, item in enumerate(first.shown)]
        one.tell(first, clicked)
        other.tell(second, clicked)


def test_dependent_clicks_go_by_the_order_of_termination():
    rates = WORLDS["cascade-like"]
    label = "dcm-kl-ucb:termination=0.1x0.9x0.5"
    _follow(label, rates, lambda rng: slow.index_lists(len(rates), (1, 2, 0), rng, slow.kl_index(0.0), "last"), 200)


def _follow(label, rates, twin, steps):
    agent = rankone.as_policy(label).agent(*rates.shape, seed=3)
    slow_one = twin(generator(3, "agent", agent.policy.label))
    clicks, expected = generator(4, label), next(slow_one)
    for step in range(steps):
        decision = agent.ask()
        assert decision.shown == expected, f"list {step}"
        clicked = [int(clicks.random() < rates[item, place]) for place, item in enumerate(expected)]
        agent.tell(decision, clicked)
        expected = slow_one.send(clicked)
