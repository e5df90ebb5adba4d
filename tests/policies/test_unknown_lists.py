"""Policies for lists whose examination nobody knows show the lists of their slow twins, on the same random numbers."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from tests.oracles import unknown_lists as slow

STEPS = 600
WORLDS = {  # click rates of each item at each position
    "high": np.outer([0.9, 0.1, 0.5, 0.3, 0.7, 0.05], [1.0, 0.8, 0.5]),
    "second position best": np.outer([0.6, 0.2, 0.4, 0.1], [0.5, 1.0]),
    "certain": np.outer([1.0, 0.0, 1.0, 0.0], [1.0, 1.0]),
    "as many positions as items": np.outer([0.5, 0.1, 0.9], [1.0, 0.6, 0.3]),
    "one position": np.outer([0.2, 0.5, 0.4, 0.1], [1.0]),
    "never": np.zeros((5, 2)),
}
TWINS = {
    "toprank": lambda n, k, rng: slow.toprank_lists(n, k, rng, STEPS),
    "batchrank": lambda n, k, rng: slow.batchrank_lists(n, k, rng, STEPS),
    "grab": lambda n, k, rng: slow.grab_lists(n, k, rng, STEPS),
    "grab:gamma=3": lambda n, k, rng: slow.grab_lists(n, k, rng, STEPS, gamma=3),
    "pb-mhb": lambda n, k, rng: slow.pb_mhb_lists(n, k, rng, 1.0),
    "pb-mhb:c=1000": lambda n, k, rng: slow.pb_mhb_lists(n, k, rng, 1000.0),
    "pb-mhb:prior=1": lambda n, k, rng: slow.pb_mhb_lists(n, k, rng, 1.0, prior=1.0),
    "unirank": lambda n, k, rng: slow.unirank_lists(n, k, rng),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWINS)
def test_same_lists_as_the_slow_twin(name, world):
    rates = WORLDS[world]
    agent = rankone.as_policy(name).with_horizon(STEPS).agent(*rates.shape, seed=3)
    twin = TWINS[name](*rates.shape, generator(3, "agent", agent.policy.label))
    clicks, expected = generator(4, world), next(twin)
    for step in range(STEPS):
        decision = agent.ask()
        assert decision.shown == expected, f"list {step}"
        clicked = [int(clicks.random() < rates[item, place]) for place, item in enumerate(expected)]
        agent.tell(decision, clicked if len(clicked) > 1 else clicked[0])
        expected = twin.send(clicked)
