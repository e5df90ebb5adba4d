"""Every policy of the paper chooses the pairs of its slow twin, decision by decision, on the same random numbers."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from tests.oracles import policies as slow

PROBLEMS = {
    "needle": ([0.75, 0.25, 0.25, 0.25], [0.75, 0.25, 0.25]),
    "extreme needle": ([0.6, 0.0, 0.0], [0.7, 0.0]),
    "one row": ([0.5], [0.9, 0.5, 0.1]),
    "one column": ([0.2, 0.8, 0.4], [0.6]),
    "one pair": ([0.5], [0.5]),
    "ties": ([0.8, 0.8, 0.3], [0.7, 0.7]),
    "certain": ([1.0, 0.0], [1.0, 1.0, 0.0]),
    "never": ([0.0, 0.0], [0.5, 0.5]),
}
HORIZON = 3_000


def oracle(name, n_rows, n_cols, rng):
    kl_bounds = {c: slow.rank1elim_kl_bounds(HORIZON, c) for c in (0.0, 3.0)}
    makers = {
        "rank1elim-kl": lambda: slow.rank1elim(n_rows, n_cols, HORIZON, rng, 16, kl_bounds[3.0]),
        "rank1elim-kl:c=0": lambda: slow.rank1elim(n_rows, n_cols, HORIZON, rng, 16, kl_bounds[0.0]),
        "rank1elim": lambda: slow.rank1elim(n_rows, n_cols, HORIZON, rng, 4, slow.rank1elim_hoeffding_bounds(HORIZON)),
        "ucb1-elim": lambda: slow.ucb1_elim(n_rows, n_cols, HORIZON, rng),
        "ucb1": lambda: slow.index_policy(n_rows, n_cols, rng, slow.ucb1_index),
        "kl-ucb": lambda: slow.index_policy(n_rows, n_cols, rng, slow.kl_ucb_index(0.0)),
        "kl-ucb:c=3": lambda: slow.index_policy(n_rows, n_cols, rng, slow.kl_ucb_index(3.0)),
    }
    return makers[name]()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "name",
    [
        "rank1elim-kl", "rank1elim-kl:c=0", "rank1elim",
        "ucb1-elim", "ucb1", "kl-ucb", "kl-ucb:c=3",
    ],
)  # fmt: skip
def test_same_pairs_as_the_slow_twin(name, problem):
    rows, cols = PROBLEMS[problem]
    means = np.outer(rows, cols)
    steps = 1_000 if "ucb" in name and "elim" not in name else 6_000  # beyond the horizon too
    agent = rankone.as_policy(name).with_horizon(HORIZON).agent(len(rows), len(cols), seed=3)
    twin_rng = generator(3, "agent", agent.policy.label)
    twin = oracle(name, len(rows), len(cols), twin_rng)
    rewards = generator(4, problem)
    expected = next(twin)
    for step in range(steps):
        decision = agent.ask()
        assert (decision.row, decision.col) == expected, f"step {step}"
        reward = int(rewards.random() < means[expected])
        agent.tell(decision, reward)
        expected = twin.send(reward)
