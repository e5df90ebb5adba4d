"""Queues and hash table of the groups against a dictionary of sorted lists."""

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.numerics.seeds import generator
from rankone.policies.engines.index_groups import (
    AFTER,
    CHOSEN,
    CLICKS,
    NOBODY,
    PULLS,
    QUEUE_FIRST,
    QUEUE_LAST,
    RACE_N_GROUPS,
    IndexState,
    drop_empty_groups,
    group_of,
    join,
    leave,
    queue_all,
    start_race,
)

N_PAIRS = 30


def _queue_all(state, rng):
    queue_all(state, rng)


def _move(state, pair, pulls, clicks, chosen):
    leave(state, group_of(state, state.pairs[pair, PULLS], state.pairs[pair, CLICKS]), pair)
    state.pairs[pair, PULLS], state.pairs[pair, CLICKS], state.pairs[pair, CHOSEN] = pulls, clicks, chosen
    join(state, group_of(state, pulls, clicks), pair)


def _tidy(state):
    drop_empty_groups(state)


def run(kernel, *arguments):
    return compiled(kernel, __name__)(*arguments)


def queues(state):
    """Counts -> pairs in the order of the queue, as the arrays have them."""
    found = {}
    for group in state.groups[: state.counters[RACE_N_GROUPS]]:
        pair, queue = group[QUEUE_FIRST], []
        while pair != NOBODY:
            queue.append(int(pair))
            pair = state.pairs[pair, AFTER]
        assert group[QUEUE_LAST] == (queue[-1] if queue else NOBODY)
        if queue:
            key = int(group[PULLS]), int(group[CLICKS])
            assert key not in found
            found[key] = queue
    return found


def model(state):
    """The same from the pairs' own numbers: those with equal counts, chosen longest ago first."""
    expected = {}
    for pair in np.argsort(state.pairs[:, CHOSEN]):
        key = int(state.pairs[pair, PULLS]), int(state.pairs[pair, CLICKS])
        expected.setdefault(key, []).append(int(pair))
    return expected


def test_at_first_all_pairs_queue_in_random_order():
    orders = []
    for seed in range(2):
        state = start_race(IndexState, np.array([5, 6]), np.empty((0, 2), np.int64))
        run(_queue_all, state, generator(seed))
        assert queues(state) == model(state)
        assert sorted(state.pairs[:, CHOSEN]) == list(range(-N_PAIRS, 0))
        orders.append(queues(state)[0, 0])
    assert orders[0] != orders[1]


@pytest.mark.parametrize("spread", [2, 6, 10**6])
def test_moves_keep_queues_in_order(spread):
    """Whatever the counts and however late the pair: few groups, many groups, each pair its own."""
    state, rng = start_race(IndexState, np.array([5, 6]), np.empty((0, 2), np.int64)), generator(1, spread)
    run(_queue_all, state, rng)
    times = iter(rng.permutation(1_000))
    for step in range(900):
        if state.counters[RACE_N_GROUPS] == len(state.groups):
            run(_tidy, state)
        pair, pulls = rng.integers(N_PAIRS), rng.integers(1, spread)
        run(_move, state, pair, pulls, rng.integers(pulls + 1), next(times))
        if step % 25 == 0:
            assert queues(state) == model(state)


def test_tidying_keeps_pairs_and_forgets_empty_groups():
    state, rng = start_race(IndexState, np.array([5, 6]), np.empty((0, 2), np.int64)), generator(2)
    run(_queue_all, state, rng)
    for pair in range(N_PAIRS):
        run(_move, state, pair, 1 + pair, 0, pair)
        run(_move, state, pair, 3 + pair % 4, 1, pair)
    assert state.counters[RACE_N_GROUPS] == 1 + N_PAIRS + 4
    run(_tidy, state)
    assert state.counters[RACE_N_GROUPS] == 4
    assert queues(state) == model(state)
