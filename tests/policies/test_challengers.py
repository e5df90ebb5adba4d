"""Random challengers: the law of its slow twin, the shortlist's rules, and UTS where everybody is a challenger."""

import numpy as np
import pytest

import rankone
from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.numerics.structures.rekeyable_table import NOBODY
from rankone.simulation.work_unit import play_run
from tests.oracles.challengers import challengers

ROWS, COLS = np.array([0.8, 0.6, 0.3, 0.3, 0.1, 0.1, 0.1, 0.05]), np.array([0.9, 0.3, 0.2, 0.2, 0.1, 0.0])
HORIZON = 250


def twin_regret(run, window, memory, patience):
    policy = challengers(len(ROWS), len(COLS), window, memory, patience, generator(run, "twin"))
    rewards, regret, pair = generator(run, "twin rewards"), 0.0, next(policy)
    for _ in range(HORIZON):
        mean = ROWS[pair[0]] * COLS[pair[1]]
        regret += ROWS.max() * COLS.max() - mean
        pair = policy.send(int(rewards.random() < mean))
    return regret


@pytest.mark.parametrize(("window", "memory", "patience"), [(2, 2, 1.0), (1, 3, 0.0)])
def test_same_law_as_the_slow_twin(window, memory, patience):
    policy = rankone.policies.Challengers(window, memory, patience)
    problem, end = rankone.RankOne(ROWS, COLS), np.array([HORIZON])
    fast = np.array(
        [play_run(policy.start(*problem.shape), problem, end, generator(run, "fast"))[0] for run in range(4_000)]
    )
    slow = np.array([twin_regret(run, window, memory, patience) for run in range(80)])
    error = np.hypot(fast.std() / np.sqrt(len(fast)), slow.std() / np.sqrt(len(slow)))
    assert abs(fast.mean() - slow.mean()) < 4.0 * error
    assert abs(np.median(fast) - np.median(slow)) < 6.0 * error


def test_the_shortlist_has_no_line_twice_and_loses_the_hopeless():
    agent = rankone.policies.Challengers(window=1, memory=3).agent(30, 2, seed=1)
    rewards, seen = generator(2), set()
    for _ in range(3_000):
        decision = agent.ask()
        rows = agent.state.shortlist[0]
        listed = rows[rows != NOBODY].tolist()
        assert len(set(listed)) == len(listed)
        assert (agent.state.shortlist[1] == NOBODY).all() or set(agent.state.shortlist[1].tolist()) <= {NOBODY, 0, 1}
        seen |= set(listed)
        agent.tell(decision, int(rewards.random() < (0.9 if decision.row == 7 else 0.1)))
    assert len(seen) > 20, "lines take turns"
    assert len([line for line in agent.state.shortlist[0] if line != NOBODY]) < 3, "what is hopeless leaves"


def test_a_window_over_everything_is_uts():
    """With every line in the window the shortlist has no part, and the law is that of UTS."""
    found = {}
    for name in ("uts", "challengers:window=8"):
        study = rankone.simulate(rankone.RankOne(ROWS, COLS), name, horizon=300, runs=1_500, workers=1, checkpoints=1)
        found[name] = study.summary().row(0, named=True)
    one, two = found.values()
    assert abs(one["regret_mean"] - two["regret_mean"]) < 4.0 * np.hypot(one["regret_se"], two["regret_se"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, "expected window as a whole number of at least 1"),
        ({"memory": 2.5}, "expected memory as a whole number"),
        ({"patience": -1.0}, "expected patience of at least 0"),
        ({"patience": "long"}, "expected patience of at least 0 - got long"),
        ({"patience": float("nan")}, "expected patience of at least 0"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(InputError, match=message):
        rankone.policies.Challengers(**settings)
