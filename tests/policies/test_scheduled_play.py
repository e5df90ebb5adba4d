"""Playing along a schedule: same choices as a plain loop, and outcomes known no sooner than the schedule says."""

import numpy as np
import pytest

import rankone
from rankone.numerics.seeds import generator
from rankone.policies.advance import ASK, LEARN
from rankone.policies.scheduled_play import Schedule, replay_schedule
from tests.oracles.replay import replay

RATES = np.array([[0.8, 0.1, 0.3], [0.1, 0.7, 0.2]])


def in_batches(decisions, size):
    """A schedule in which outcomes come when a batch of `size` decisions is complete."""
    batches = [np.arange(first, min(first + size, decisions)) for first in range(0, decisions, size)]
    what = [np.repeat([ASK, LEARN], len(batch)) for batch in batches]
    return Schedule(np.concatenate(what), np.concatenate([np.tile(batch, 2) for batch in batches]))


@pytest.mark.parametrize("name", ["uts", "ucb1"])
def test_outcomes_at_once_are_a_plain_loop(name):
    policy = rankone.as_policy(name)
    asked, pulls, clicks = replay_schedule(policy, RATES, Schedule.at_once(300), generator(1))
    pairs = replay(policy.start(*RATES.shape), RATES, 300, generator(1))
    assert asked.ravel().tolist() == np.bincount(pairs, minlength=RATES.size).tolist()
    assert (pulls == asked).all()
    assert ((clicks >= 0) & (clicks <= pulls)).all()


def test_batches_hold_outcomes_back():
    blind = [
        replay_schedule(rankone.as_policy("ucb1"), rates, in_batches(100, 100), generator(2))[0].tolist()
        for rates in (RATES, 1.0 - RATES)
    ]
    assert blind[0] == blind[1], "before the first outcome the world cannot matter"
    schedule = in_batches(250, 100)
    known = np.cumsum(schedule.what == LEARN)[schedule.what == ASK]
    assert known.tolist() == [0] * 100 + [100] * 100 + [200] * 50
    assert sorted(schedule.decision[schedule.what == LEARN].tolist()) == list(range(250))


def test_fillers_are_counted_and_not_learned():
    policy = rankone.Rank1ElimKL(horizon=2_000)
    asked, pulls, _ = replay_schedule(policy, RATES, in_batches(2_000, 400), generator(3))
    assert asked.sum() == pulls.sum() == 2_000
