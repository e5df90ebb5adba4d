"""Policies on lists by their definitions: every index, or every draw, for every list. The engines' slow twins.

Compiled, so that they can follow the engines far, and so that benchmarks can time them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

import rankone
from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.engines.index_race import exploration_level, goes_by_kl, index_at
from rankone.policies.engines.lists.layout import UNTIL, looked_at, positions_by_order
from rankone.policies.lists.cascades.cascade_kl_ucb import CascadeKLUCB
from rankone.policies.lists.cascades.cascade_ts import CascadeTS
from rankone.policies.lists.cascades.cascade_ucb1 import CascadeUCB1, _index, _level


class PlainState(NamedTuple):
    pulls: Ints  # (L,)
    clicks: Ints  # (L,)
    shown_at: Ints  # (L,)
    heights: Floats  # (L,) scratch space
    top: Ints  # (K,) scratch space
    counters: Ints  # (3,) lists so far, how far they are read, are the first ties drawn
    levels: Floats  # (6,) the last is c
    positions: Ints  # (K,)


class PlainKLState(PlainState):
    pass


class PlainUCB1State(PlainState):
    pass


class PlainTSState(PlainState):
    pass


goes_by_kl(PlainKLState)
exploration_level.register(PlainUCB1State)(_level)
index_at.register(PlainUCB1State)(_index)


def start(state_class: Any, policy: Any, n_items: int, n_positions: int) -> Any:
    zeros = (np.zeros(n_items, np.int64) for _ in range(3))
    levels = np.zeros(6)
    levels[5] = getattr(policy, "c", 0.0)
    return state_class(
        *zeros, np.zeros(n_items), np.zeros(n_positions, np.int64), np.array([0, UNTIL[policy.until], 0]), levels,
        positions_by_order(n_positions, policy.order),
    )  # fmt: skip


@noalloc
def shuffle(state, rng):
    shown_at, n_items = state.shown_at, len(state.shown_at)
    for item in range(n_items):
        other = int(rng.random() * (item + 1))
        shown_at[item] = shown_at[other]
        shown_at[other] = item - n_items
    state.counters[2] = 1


@noalloc
def show_largest(state, shown):
    """One look at all heights, the K largest kept in order."""
    heights, shown_at, top, found = state.heights, state.shown_at, state.top, 0
    n_positions = len(shown)
    for item in range(len(heights)):
        place = found
        while place > 0 and (
            heights[item] > heights[top[place - 1]]
            or (heights[item] == heights[top[place - 1]] and shown_at[item] < shown_at[top[place - 1]])
        ):
            if place < n_positions:
                top[place] = top[place - 1]
            place -= 1
        if place < n_positions:
            top[place] = item
            if found < n_positions:
                found += 1
    for rank in range(n_positions):
        shown[state.positions[rank]] = top[rank]
        shown_at[top[rank]] = state.counters[0] * n_positions + rank
    state.counters[0] += 1


@noalloc
def by_index(state, rng, shown):
    if state.counters[2] == 0:
        shuffle(state, rng)
    level = exploration_level(state, state.counters[0])
    for item in range(len(state.pulls)):
        pulls = state.pulls[item]
        state.heights[item] = index_at(state, pulls, state.clicks[item], level) if pulls > 0 else np.inf
    show_largest(state, shown)


@decide.register(PlainKLState)
def _decide_kl(state, context, rng, shown):
    by_index(state, rng, shown)
    return 0


@decide.register(PlainUCB1State)
def _decide_ucb1(state, context, rng, shown):
    by_index(state, rng, shown)
    return 0


@decide.register(PlainTSState)
def _decide_ts(state, context, rng, shown):
    for item in range(len(state.pulls)):
        state.heights[item] = draw_beta(state.pulls[item], state.clicks[item], rng)
    show_largest(state, shown)
    return 0


@learn.register(PlainState)
def _learn(state, shown, tag, outcome):
    for place in range(looked_at(outcome, state.counters[1])):
        state.pulls[shown[place]] += 1
        state.clicks[shown[place]] += outcome[place]


@dataclasses.dataclass(frozen=True)
class PlainCascadeKLUCB(CascadeKLUCB):
    def start(self, n_items, n_positions):
        return start(PlainKLState, self, n_items, n_positions)


@dataclasses.dataclass(frozen=True)
class PlainCascadeUCB1(CascadeUCB1):
    def start(self, n_items, n_positions):
        return start(PlainUCB1State, self, n_items, n_positions)


@dataclasses.dataclass(frozen=True)
class PlainCascadeTS(CascadeTS):
    def start(self, n_items, n_positions):
        return start(PlainTSState, self, n_items, n_positions)


def plain_lists(label: str) -> rankone.Policy:
    """The plain twin of a policy."""
    policy = rankone.as_policy(label)
    kinds = {CascadeKLUCB: PlainCascadeKLUCB, CascadeUCB1: PlainCascadeUCB1, CascadeTS: PlainCascadeTS}
    return kinds[type(policy)](**dataclasses.asdict(policy))
