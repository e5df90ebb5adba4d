"""Problems as environments: what Gymnasium's own checker finds, and that they are the worlds of studies."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rankone.gym
from rankone.errors import InputError

PROBLEMS = [
    "needle:4x4",
    "needle:2x2x2",
    "cascade:10x3",
    "vial:20x3:d=4",
    "visitors:3x2:d=3",
    "latent:60x3:figure=2",
    "dcm:10x3",
]


@pytest.mark.filterwarnings("ignore:.*Box observation space m:UserWarning")  # features have no bounds
@pytest.mark.parametrize("problem", PROBLEMS)
def test_gymnasium_finds_nothing_wrong(problem):
    check_env(rankone.gym.make(problem, horizon=50), skip_render_check=True)


def test_rewards_and_regret_are_those_of_the_problem():
    env = rankone.gym.make("needle:3x3", horizon=4_000)
    env.reset(seed=5)
    rates = np.outer(env.problem.rows, env.problem.cols)
    for shown in env.problem.best_decision(), (1, 1):
        steps = [env.step(np.array(shown)) for _ in range(2_000)]
        mean, rate = np.mean([step[1] for step in steps]), rates[shown]
        assert abs(mean - rate) < 4 * np.sqrt(rate * (1 - rate) / 2_000)
        assert np.allclose([step[4]["regret"] for step in steps], rates.max() - rate)
        assert steps[-1][3] == (shown == (1, 1))  # an episode of 4,000


def test_the_same_seed_has_the_same_visitors():
    runs = []
    for _ in range(2):
        env = rankone.gym.make("visitors:3x2:d=3", horizon=30)
        first, _ = env.reset(seed=7)
        runs.append([first.tolist()] + [[*env.step(np.array([1, 1]))[:2]] for _ in range(5)])
    assert str(runs[0]) == str(runs[1])


def test_a_list_shows_each_item_once():
    env = rankone.gym.make("cascade:6x4", horizon=3)
    env.reset(seed=1)
    assert env.step(np.array([5, 5, 0, 5]))[4]["shown"].tolist() == [5, 0, 1, 2]


def test_an_episode_has_a_length():
    with pytest.raises(InputError, match="a horizon of at least 1"):
        rankone.gym.make("needle:2x2", horizon=0)
