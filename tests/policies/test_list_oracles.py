"""Policies on lists show the lists of their slow twins, list by list, on the same random numbers."""

import numpy as np
import pytest

import rankone
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
TWINS = {
    "cascade-kl-ucb": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.kl_index(0.0)),
    "cascade-kl-ucb:c=3,order=worst-first": lambda n, k, rng: slow.index_lists(
        n, range(k)[::-1], rng, slow.kl_index(3.0)
    ),
    "cascade-kl-ucb:until=last": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.kl_index(0.0), "last"),
    "cascade-ucb1": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.ucb1_index),
    "cascade-ucb1:until=all": lambda n, k, rng: slow.index_lists(n, range(k), rng, slow.ucb1_index, "all"),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWINS)
def test_same_lists_as_the_slow_twin(name, world):
    rates = WORLDS[world]
    agent = rankone.as_policy(name).with_horizon(400).agent(*rates.shape, seed=3)
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
    for problem in ("cascade:300x5", "pbm-low:60x4", "dcm:40x8:gap=0.05", "cascade:5x5"):
        studies = [
            rankone.simulate(problem, policy, 6_000, runs=1, workers=1, feedback=feedback, checkpoints=200)
            for policy in (label, plain_lists(label))
        ]
        one, other = (study.runs[0].regret for study in studies)
        assert one.tolist() == other.tolist(), problem
