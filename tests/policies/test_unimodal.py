"""The unimodal policies: their rules decision by decision, and the traps that make such policies fail."""

import math

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from rankone.simulation.work_unit import play_run
from tests.oracles.policies import kl, upper

NAMES = ["uts", "osub", "osub:c=3", "imed-ub", "klucb-ub"]
PROBLEMS = {
    "needle": ([0.75, 0.25, 0.25, 0.25], [0.75, 0.25, 0.25]),
    "rows of zeros": ([0.0, 0.0, 0.9], [0.0, 0.8, 0.0]),
    "one row": ([0.5], [0.9, 0.5, 0.1]),
    "one column": ([0.2, 0.8, 0.4], [0.6]),
    "one pair": ([0.5], [0.5]),
    "certain": ([1.0, 0.0], [1.0, 1.0, 0.0]),
    "never": ([0.0, 0.0], [0.5, 0.5]),
}


def index(name, pulls, clicks, pair, leader, led):
    """The index of a pair on the leader's cross; the largest is chosen."""
    if pulls[pair] == 0:
        return math.inf
    mean = clicks[pair] / pulls[pair]
    if name == "imed-ub":
        return -pulls[pair] * kl(mean, clicks[leader] / pulls[leader]) - math.log(pulls[pair])
    if name == "klucb-ub":
        level = math.log(pulls[leader]) - math.log(pulls[pair])
    else:
        level = math.log(led[leader])
        level += (3.0 if name.endswith("c=3") else 0.0) * math.log(max(1.0, level))
    return upper(mean, max(0.0, level) / pulls[pair])


def allowed(name, pulls, clicks, leader, led):
    """The pairs that may be chosen if `leader` leads."""
    n_rows, n_cols = pulls.shape
    if name == "uts" and led[leader] % 2 == 0:
        return {leader}
    if name.startswith("osub") and (led[leader] - 1) % (n_rows + n_cols - 1) == 0:
        return {leader}
    cross = [(i, j) for i in range(n_rows) for j in range(n_cols) if i == leader[0] or j == leader[1]]
    if name == "uts":
        return set(cross)
    indices = {pair: index(name, pulls, clicks, pair, leader, led) for pair in cross}
    best = max(indices.values())
    close = 1e-7  # bisection stops where d(p, q) rounds to 0
    return {pair for pair in cross if indices[pair] == best or abs(indices[pair] - best) < close}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", NAMES)
def test_follows_its_rule(name, problem):
    rows, cols = PROBLEMS[problem]
    means = np.outer(rows, cols)
    pulls, clicks = np.zeros(means.shape, int), np.zeros(means.shape, int)
    agent = rankone.as_policy(name).agent(*means.shape, seed=5)
    rewards = generator(6, problem)
    for _ in range(400):
        led_before = agent.state.led.reshape(means.shape).copy()
        decision = agent.ask()
        led = agent.state.led.reshape(means.shape)
        (leader,) = [tuple(pair) for pair in np.argwhere(led != led_before).tolist()]
        assert led[leader] == led_before[leader] + 1
        empirical = np.where(pulls > 0, clicks / np.maximum(pulls, 1), -1.0)
        assert empirical[leader] == empirical.max()
        pair = (decision.row, decision.col)
        assert pair in allowed(name, pulls, clicks, leader, led)
        reward = int(rewards.random() < means[pair])
        agent.tell(decision, reward)
        pulls[pair] += 1
        clicks[pair] += reward


def regrets(name, rows, cols, horizon, runs):
    policy, problem, end = rankone.as_policy(name), rankone.RankOne(rows, cols), np.array([horizon])
    played = [play_run(policy.start(*problem.shape), problem, end, generator(seed, "traps"))[0] for seed in range(runs)]
    return np.array(played)[:, 0]


TRAPS = {
    "rows and columns of zeros": ([0.5, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0]),
    "lock-in": ([0.9, 0.8, 0.1, 0.1, 0.1, 0.1], [0.9, 0.05, 0.05, 0.05, 0.05, 0.05]),
    "one row": ([0.5], [0.9, 0.5, 0.1, 0.1]),
    "one column": ([0.2, 0.8, 0.4, 0.1], [0.6]),
    "certain": ([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", NAMES)
def test_does_not_fall_into_the_trap(name, trap):
    """Regret stays far from linear in every run: at most a tenth of what random choices would cost."""
    rows, cols = map(np.array, TRAPS[trap])
    horizon = 20_000
    random_regret = horizon * (rows.max() * cols.max() - rows.mean() * cols.mean())
    assert regrets(name, rows, cols, horizon, runs=20).max() < 0.1 * random_regret


@pytest.mark.parametrize("name", [*NAMES, "thompson"])
def test_near_ties_cost_little(name):
    """With gaps of 0.002 the most that can be lost is the gap times the horizon, and most of it is not lost."""
    found = regrets(name, [0.5, 0.499, 0.1], [0.8, 0.798, 0.1], 20_000, runs=10)
    assert found.max() < 0.1 * 20_000 * 0.4


@pytest.mark.parametrize("name", [*NAMES, "thompson", "uniform"])
def test_nothing_to_choose_or_nothing_to_win(name):
    assert (regrets(name, [0.4], [0.7], 1_000, runs=2) == 0.0).all()
    assert (regrets(name, [0.0] * 3, [0.6] * 4, 1_000, runs=2) == 0.0).all()
    assert (regrets(name, [0.6] * 3, [0.5] * 4, 1_000, runs=2) == 0.0).all()


def test_ties_between_leaders_are_broken_afresh():
    """Without a click, every pair with an outcome leads equally often."""
    agent = rankone.UTS().agent(2, 3, seed=1)
    for _ in range(3_000):
        agent.tell(agent.ask(), clicked=False)
    led = agent.state.led
    assert np.abs(led - led.mean()).max() < 5.0 * np.sqrt(led.mean())


def test_yardsticks():
    rows, cols = np.array([0.2, 0.9, 0.4]), np.array([0.7, 0.3])
    policy = rankone.policies.Best().for_problem(1, 0)
    decision = policy.agent(3, 2).ask()
    assert (decision.row, decision.col) == (1, 0)
    horizon, runs = 1_000, 50
    gaps = (rows.max() * cols.max() - np.outer(rows, cols)).ravel()
    found = regrets("uniform", rows, cols, horizon, runs)
    standard_error = gaps.std() * math.sqrt(horizon / runs)
    assert abs(found.mean() - horizon * gaps.mean()) < 4.0 * standard_error
