"""The loop stops playing a settled policy only in a world that never changes, and a world cannot forget to say so."""

from typing import NamedTuple

import numpy as np
import pytest

import rankone
from rankone.kernels.world import loss, move, observe, respond, steady
from rankone.numerics.seeds import generator
from rankone.problems.product_world import RankOneWorld
from rankone.simulation.work_unit import play_run


class SlidingWorld(NamedTuple):
    rates: np.ndarray  # (K,) of each row, for any column: 1 for the row whose turn it is


@respond.register(SlidingWorld)
def _respond(world, shown, outcome, rng):
    outcome[0] = 1 if rng.random() < world.rates[shown[0]] else 0
    return True


@loss.register(SlidingWorld)
def _loss(world, shown):
    return 1.0 - world.rates[shown[0]]


@move.register(SlidingWorld)
def _move(world, step, rng):
    for row in range(len(world.rates)):
        world.rates[row] = 1.0 if row == step % len(world.rates) else 0.0


class WatchedWorld(RankOneWorld):
    pass


@observe.register(WatchedWorld)
def _observe(world, step, rng, context):
    pass


def test_a_world_is_steady_unless_something_changes_it():
    rates = np.ones(2)
    assert steady(RankOneWorld(rates, rates, rates))
    assert not steady(WatchedWorld(rates, rates, rates))
    assert not steady(SlidingWorld(rates))


@pytest.mark.parametrize("feedback", ["immediate", "delay:steps=3"])
def test_a_settled_policy_is_played_on_in_a_world_that_moves(feedback):
    class Sliding(rankone.RankOne):
        kind = "test-sliding"

        def start(self):
            return SlidingWorld(np.zeros(4))

    problem = Sliding([0.5] * 4, [0.5] * 2)
    state = rankone.policies.Best(levels=(1, 0)).start(4, 2)
    late = rankone.simulation.feedback.as_feedback(feedback)
    regret, _ = play_run(state, problem, np.array([2, 4, 1_000]), generator(0), late)
    assert regret.tolist() == [1.0, 3.0, 750.0]
