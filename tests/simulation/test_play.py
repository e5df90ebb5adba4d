"""The compiled loop agrees with the same loop written plainly over an agent."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run
from tests.own_policies import own_policies


def plain_play(policy, problem, checkpoints, rng):
    """The loop in plain Python: the policy's and the world's draws alternate on one generator."""
    agent = policy.agent(problem.n_rows, problem.n_cols)
    agent.rng = rng
    regrets, regret = [], 0.0
    for step in range(checkpoints[-1]):
        decision = agent.ask()
        agent.tell(decision, int(rng.random() < problem.means[decision.row, decision.col]))
        regret += problem.best_mean - problem.means[decision.row, decision.col]
        if step + 1 in checkpoints:
            regrets.append(regret)
    return regrets


@pytest.mark.parametrize("name", own_policies())
def test_same_regret_as_the_plain_loop(name):
    problem = rankone.RankOne([0.9, 0.3, 0.5], [0.2, 0.8])
    policy = rankone.as_policy(name).with_horizon(3_000).for_problem(0, 1)
    checkpoints = np.array([1, 10, 999, 3_000])
    regrets, _ = play_run(policy.start(3, 2), problem, checkpoints, generator(5))
    assert regrets == pytest.approx(plain_play(policy, problem, checkpoints.tolist(), generator(5)), abs=1e-9)


def test_a_settled_policy_steps_over_pauses():
    """Checkpoints further apart than the loop pauses: it once paused for ever at a step that was behind it."""
    study = rankone.simulate(rankone.needle(4, 4), ["best", "rank1elim"], 2_000_000, runs=1, workers=1, checkpoints=3)
    assert study.runs[0].regret.tolist() == [0.0, 0.0, 0.0]
    assert study.runs[1].regret[-1] > 0.0
