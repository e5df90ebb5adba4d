"""Which K items have the largest indices now? For policies on lists that go by an index of each item's counts.

Exact: the same lists as computing every index for every list. The index of an item depends on its counts and grows,
ever more slowly, with an exploration level f(t), as in `engines.index_race`; and as there, items with equal
counts form a group, a queue from shown longest ago to shown last (`engines.index_groups`).

* The K items of the last list are *held*: they are in no group, and their counts may change at every list.
* An index is concave in f, so its tangent bounds it from above: one line a group, good for ever, touched anew whenever
  the group's true index is computed.
* A new list: compute the indices of the held items; the K-th of them is the bar. Groups whose tangent stays below the
  bar, nearly all, cost a multiplication. The others compute their index, and what beats the bar takes the place of the
  last held item, which raises the bar.
* Ties go to the item shown longest ago, and among items never shown to a random one. An item that nobody has looked at
  yet comes first.

A policy's state is a class derived from `ItemRaceState` for which `exploration_level`, `index_at` and `index_slope` of
`engines.index_race` are registered; `decide` and `learn` come with it.
"""

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import extends
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.engines.index_groups import (
    AFTER,
    BEFORE,
    CHOSEN,
    CLICKS,
    NOBODY,
    NOW,
    PULLS,
    QUEUE_FIRST,
    RACE_ASKED,
    RACE_LEADER,
    RACE_MAX_GROUPS,
    RACE_N_GROUPS,
    RACE_RENEW_AT,
    RACE_UNTIL,
    SPARE_GROUPS,
    GroupedCounts,
    drop_empty_groups,
    group_of,
    join,
    leave,
    queue_all,
    start_groups,
)
from rankone.policies.engines.index_race import ABOVE, exploration_level, index_at, index_slope
from rankone.policies.engines.lists.layout import looked_at

_HELD = -2  # in place of who stands before it in a queue: an item that is in none


@extends(GroupedCounts)
class ItemRaceState:
    """The groups of items, and the items held: the last list, the largest index first."""

    held: Ints  # (K,)
    heights: Floats  # (K,) the index of each held item
    positions: Ints  # (K,) the position of the best item, of the second best, ...


def start_items(state_class: Any, n_items: int, positions: Ints, until: int, constant: float = 0.0) -> Any:
    """Return the state before the first list."""
    held, heights = np.full(len(positions), NOBODY), np.full(len(positions), math.inf)
    state = start_groups(state_class, n_items, constant, held=held, heights=heights, positions=positions)
    state.counters[RACE_UNTIL] = until
    return state


@inlined
def _height(state: Any, pulls: int, clicks: int) -> float:
    return index_at(state, pulls, clicks, state.levels[NOW]) if pulls > 0 else math.inf


@noalloc
def _touch(state: Any, group: int) -> float:
    """Compute the group's index and let its tangent touch there."""
    pulls, clicks, level = state.groups[group, PULLS], state.groups[group, CLICKS], state.levels[NOW]
    height, slope = _height(state, pulls, clicks), 0.0
    if pulls > 0:
        slope = index_slope(state, pulls, clicks, level, height)
    state.tangents[group, 0], state.tangents[group, 1] = height - slope * level, slope
    return height


@noalloc
def _tidy(state: Any) -> None:
    """Forget empty groups; draw the tangents of the others anew."""
    counters = state.counters
    drop_empty_groups(state)
    counters[RACE_LEADER] = 0
    counters[RACE_MAX_GROUPS] = 2 * counters[RACE_N_GROUPS] + SPARE_GROUPS
    counters[RACE_RENEW_AT] = counters[RACE_ASKED] + (counters[RACE_ASKED] >> 4) + 16
    for group in range(counters[RACE_N_GROUPS]):
        _touch(state, group)


@noalloc
def _enter(state: Any, item: int) -> None:
    """Let an item join the group of its counts."""
    counters = state.counters
    if counters[RACE_N_GROUPS] == counters[RACE_MAX_GROUPS]:
        _tidy(state)
    n_groups = counters[RACE_N_GROUPS]
    group = group_of(state, state.pairs[item, PULLS], state.pairs[item, CLICKS])
    if group == n_groups:
        _touch(state, group)
    join(state, group, item)


@inlined
def _beats(state: Any, height: float, item: int, position: int) -> bool:
    """Tell whether an item of this index goes before the one held at a place."""
    if height != state.heights[position]:
        return height > state.heights[position]
    return state.pairs[item, CHOSEN] < state.pairs[state.held[position], CHOSEN]


@inlined
def _insert(state: Any, height: float, item: int, position: int) -> None:
    """Put an item at a free place of the held ones and let it rise to where it belongs."""
    held, heights = state.held, state.heights
    while position > 0 and _beats(state, height, item, position - 1):
        held[position], heights[position] = held[position - 1], heights[position - 1]
        position -= 1
    held[position], heights[position] = item, height


@noalloc
def _challenge(state: Any) -> int:
    """Let every group challenge the last held item; return the first of the items that have to go, a chain."""
    pairs, groups, tangents, held, heights = state.pairs, state.groups, state.tangents, state.held, state.heights
    last, level, gone, highest = len(held) - 1, state.levels[NOW], NOBODY, -1.0
    n_groups, leader = state.counters[RACE_N_GROUPS], state.counters[RACE_LEADER]
    for turn in range(leader, leader + n_groups):  # begin with who led last: a high bar spares the others
        group = turn if turn < n_groups else turn - n_groups
        bound = tangents[group, 0] + tangents[group, 1] * level
        if bound * ABOVE < heights[last] or groups[group, QUEUE_FIRST] == NOBODY:
            continue
        height, first = _touch(state, group), groups[group, QUEUE_FIRST]
        while first != NOBODY and _beats(state, height, first, last):
            leave(state, group, first)
            pairs[held[last], AFTER] = gone
            gone = held[last]
            pairs[first, BEFORE] = _HELD
            _insert(state, height, first, last)
            first = groups[group, QUEUE_FIRST]
        if first != NOBODY and height > highest:
            state.counters[RACE_LEADER], highest = group, height
    return gone


@noalloc
def _lay_out(state: Any, rng: Any) -> None:
    """Put all items into the queue of those that nobody has looked at, and hold the first K."""
    queue_all(state, rng)
    group = group_of(state, 0, 0)
    _touch(state, group)
    for position in range(len(state.held)):
        item = state.groups[group, QUEUE_FIRST]
        leave(state, group, item)
        state.held[position], state.pairs[item, BEFORE] = item, _HELD


@noalloc
def find_largest(state: Any, rng: Any) -> None:
    """Fill `held` with the K items of the largest indices, the largest first."""
    pairs, held, counters = state.pairs, state.held, state.counters
    state.levels[NOW] = exploration_level(state, counters[RACE_ASKED])
    if held[0] == NOBODY:
        _lay_out(state, rng)
    if counters[RACE_ASKED] >= counters[RACE_RENEW_AT]:
        _tidy(state)
    for position in range(len(held)):
        item = held[position]
        _insert(state, _height(state, pairs[item, PULLS], pairs[item, CLICKS]), item, position)
    gone = _challenge(state)
    while gone != NOBODY:
        following = pairs[gone, AFTER]
        _enter(state, gone)
        gone = following
    n_positions = len(held)
    for position in range(n_positions):
        pairs[held[position], CHOSEN] = counters[RACE_ASKED] * n_positions + position
    counters[RACE_ASKED] += 1


@decide.register(ItemRaceState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    find_largest(state, rng)
    for position in range(len(shown)):
        shown[state.positions[position]] = state.held[position]
    return 0


@noalloc
def count_look(state: Any, item: int, clicked: int) -> None:
    """Count a look at an item. One that is not held any more, as its outcome came late, changes its group."""
    pairs = state.pairs
    if pairs[item, BEFORE] == _HELD:
        pairs[item, PULLS] += 1
        pairs[item, CLICKS] += clicked
        return
    leave(state, group_of(state, pairs[item, PULLS], pairs[item, CLICKS]), item)
    pairs[item, PULLS] += 1
    pairs[item, CLICKS] += clicked
    _enter(state, item)


@learn.register(ItemRaceState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(looked_at(outcome, state.counters[RACE_UNTIL])):
        count_look(state, shown[position], outcome[position])
