"""Elimination policies tell who is still in the race."""

import numpy as np
import pytest

from rankone import RankOne, as_policy
from rankone.kernels.policy import race
from rankone.numerics.seeds import generator

SHARP = RankOne([0.99, 0.01, 0.01], [0.99, 0.01])


@pytest.mark.parametrize("spec", ["rank1elim-kl:horizon=2000,c=0", "ucb1-elim:horizon=4000"])
def test_losers_leave_the_race(spec):
    agent, rng = as_policy(spec).agent(3, 2), generator(0, spec)
    begin = race(agent.state)
    assert begin.left[0].tolist() == [True] * 3
    assert begin.left[1].tolist() == [True] * 2
    for _ in range(4000):
        decision = agent.ask()
        agent.tell(decision, int(rng.random() < SHARP.rows[decision.row] * SHARP.cols[decision.col]))
    end = race(agent.state)
    assert end.stage > begin.stage
    assert end.left[0][0]
    assert end.left[1][0]
    assert np.count_nonzero(end.left[0]) + np.count_nonzero(end.left[1]) < 5


def test_others_have_no_race():
    assert race(as_policy("ucb1").start(3, 2)) is None
