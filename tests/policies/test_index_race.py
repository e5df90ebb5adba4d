"""The race with an index of our own, looked at from inside: bounds hold, and the held pair really leads."""

import math

import numpy as np
import pytest

from rankone.compiling.compiled import compiled
from rankone.kernels.policy import decide, learn
from rankone.numerics.seeds import generator
from rankone.policies.engines.index_groups import (
    BAR,
    CHOSEN,
    CLICKS,
    LATER,
    NOBODY,
    NOW,
    PULLS,
    QUEUE_FIRST,
    RACE_ASKED,
    RACE_HELD,
    RACE_HELD_PULLS,
    RACE_LEADER,
    RACE_N_GROUPS,
    RACE_VALID_UNTIL,
    RIVALS,
    IndexState,
    start_race,
)
from rankone.policies.engines.index_race import exploration_level, index_at, index_slope, level_needed


class CubeRootState(IndexState):
    """Index: mean + cube root of level / pulls; level: square root of the decisions, which grows fast."""


@exploration_level.register(CubeRootState)
def _exploration_level(state, asked):
    return math.sqrt(asked)


@index_at.register(CubeRootState)
def index_at(state, pulls, clicks, level):
    return clicks / pulls + (level / pulls) ** (1 / 3)


@index_slope.register(CubeRootState)
def _index_slope(state, pulls, clicks, level, index):
    return (index - clicks / pulls) / (3.0 * level)


@level_needed.register(CubeRootState)
def _level_needed(state, pulls, clicks, index):
    distance = index - clicks / pulls
    return pulls * distance**3 if distance > 0.0 else 0.0


def _decide(state, rng, shown):
    return decide(state, shown, rng, shown)


def _learn(state, shown, outcome):
    learn(state, shown, 0, outcome)


def start(*sizes):
    return start_race(CubeRootState, np.array(sizes), np.empty((0, len(sizes)), np.int64))


def indices(state, asked):
    """The index of every pair, by definition."""
    pulls, clicks = state.pulls, state.clicks
    with np.errstate(divide="ignore", invalid="ignore"):
        values = index_at(None, pulls, clicks, math.sqrt(asked))
    return np.where(pulls > 0, values, math.inf)


@pytest.fixture(scope="module")
def steps():
    """States of one run, each just after a decision, with the indices that decided and when pairs were last chosen."""
    state, rng = start(4, 5), generator(1)
    means = rng.random((4, 5))
    taken = []
    for _ in range(4_000):
        before, chosen = indices(state, state.counters[RACE_ASKED]), state.pairs[:, CHOSEN].copy()
        shown = np.zeros(2, np.int64)
        compiled(_decide, __name__)(state, rng, shown)
        taken.append((type(state)(*(array.copy() for array in state)), before, chosen, shown[0] * 5 + shown[1]))
        compiled(_learn, __name__)(state, shown, np.array([int(rng.random() < means[tuple(shown)])]))
    return taken


def test_the_largest_index_is_chosen_and_ties_go_by_waiting(steps):
    for _, values, chosen, pair in steps[1:]:
        best = np.flatnonzero(values == values.max())
        assert pair == best[np.argmin(chosen[best])]


def test_tangents_are_above_the_index_everywhere(steps):
    for state, *_ in steps[100::97]:
        for group in range(state.counters[RACE_N_GROUPS]):
            pulls, clicks = state.groups[group, PULLS], state.groups[group, CLICKS]
            height, slope = state.tangents[group]
            for level in (
                0.0,
                0.5 * state.levels[NOW],
                state.levels[NOW],
                state.levels[LATER],
                2.0 * state.levels[LATER],
            ):
                assert pulls == 0 or height + slope * level >= index_at(None, pulls, clicks, level) * (1 - 1e-15)


def test_bars_are_above_every_other_pair_until_the_race_is_looked_at_again(steps):
    for state, *_ in steps[100:]:
        counters, levels = state.counters, state.levels
        if counters[RACE_ASKED] <= counters[RACE_VALID_UNTIL]:
            values = indices(state, counters[RACE_VALID_UNTIL])
            led = np.arange(len(values)) == counters[RACE_HELD]
            assert levels[BAR] > values[~led].max()
            leader = state.groups[counters[RACE_LEADER]]
            led |= (state.pulls == leader[PULLS]) & (state.clicks == leader[CLICKS]) & (leader[QUEUE_FIRST] != NOBODY)
            assert levels[RIVALS] > values[~led].max(initial=-1.0)


def test_the_held_pair_plays_on_only_after_an_outcome():
    """Without outcomes pairs tie, and take turns in the order they were chosen."""
    state, rng, shown, chosen = start(2, 3), generator(2), np.zeros(2, np.int64), []
    for _ in range(18):
        compiled(_decide, __name__)(state, rng, shown)
        chosen.append(tuple(shown.tolist()))
    assert chosen[:6] == chosen[6:12] == chosen[12:]
    assert len(set(chosen)) == 6
    assert state.counters[RACE_HELD_PULLS] == 0
