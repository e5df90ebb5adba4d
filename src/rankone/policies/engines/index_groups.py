"""Pairs with the same counts, kept together: where the exact engine of UCB1 and KL-UCB stores its pairs.

An index depends on a pair only through its counts (pulls, clicks), and thousands of pairs share a few dozen counts. So
the engine looks at *groups* of pairs with equal counts. Ties go to the pair chosen longest ago, so a group is a queue:
a doubly linked list through `IndexState.pairs`. A pair just chosen joins at the end; one whose outcome comes late joins
where its turn is. The pair now being played is held, in no group. A hash table finds the group of given counts. A group
that runs empty keeps its place until `drop_empty_groups`; the caller does that before slots run out.

How the best group is found without looking at every index: `rankone.policies.engines.index_race`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import extends
from rankone.numerics.arrays import Floats, Ints

State = TypeVar("State")

NOBODY = NEVER = -1
# Columns of `IndexState.pairs` and of `IndexState.groups`; both begin with the counts.
PULLS, CLICKS, CHOSEN, BEFORE, AFTER = range(5)
QUEUE_FIRST, QUEUE_LAST, QUEUE_BUCKET = range(2, 5)
# Fields of `IndexState.counters` and of `IndexState.levels`; `index_race` says what they mean.
RACE_ASKED, RACE_N_GROUPS, RACE_MAX_GROUPS, RACE_HELD, RACE_HELD_PULLS, RACE_HELD_CHOSEN = range(6)
RACE_LEADER, RACE_VALID_UNTIL, RACE_SEARCHED_AT, RACE_LOOK_AHEAD, RACE_RENEW_AT = range(6, 11)
RACE_UNTIL = 11  # only of lists: how far they are read
NOW, LATER, BAR, RIVALS, TOUCHED, CONSTANT = range(6)

# A table of groups has room for every pair in a group of its own, twice, and for these.
SPARE_GROUPS = 32
_SPREAD = 1_000_003  # an odd multiplier: counts that differ little land in buckets far apart


class GroupedCounts(NamedTuple):
    """Counts of every pair, or item of lists, the groups they form, and the race between them.

    A pair's numbers lie side by side, because a step that changes the held pair visits pairs all over the memory.
    """

    pairs: Ints  # (n, 5) pulls, clicks; when last chosen (below zero: never); neighbours in the queue
    groups: Ints  # (2 n + 32, 5) pulls, clicks; first and last pair of the queue; place in the hash table
    tangents: Floats  # (2 n + 32, 2) the line above each group's index: its height at level 0 and its slope
    buckets: Ints  # (a power of two,) hash table from counts to groups
    counters: Ints  # (12,) decisions so far, and where the race stands
    levels: Floats  # (6,) exploration levels, the bars between the rivals, and the policy's own constant

    @property
    def pulls(self) -> Ints:
        """``(n,)`` outcomes of each pair."""
        return self.pairs[:, PULLS]

    @property
    def clicks(self) -> Ints:
        """``(n,)`` clicks of each pair."""
        return self.pairs[:, CLICKS]


@extends(GroupedCounts)
class IndexState:
    """Combinations as pairs of a race."""

    sizes: Ints  # (D,) levels of each factor
    forbidden: Ints  # (rules, D) what is never shown
    held: Ints  # (D,) levels of the pair held


def start_race(state_class: Callable[..., State], sizes: Ints, forbidden: Ints, constant: float = 0.0) -> State:
    """Return the state before the first decision on combinations."""
    own = {"sizes": sizes, "forbidden": forbidden, "held": np.zeros_like(sizes)}
    return start_groups(state_class, math.prod(sizes.tolist()), constant, **own)


def start_groups(state_class: Callable[..., State], n_pairs: int, constant: float = 0.0, **more: Any) -> State:
    """Return the state before the first decision, with more fields of its own."""
    n_groups = 2 * n_pairs + SPARE_GROUPS
    counters = np.zeros(12, np.int64)
    counters[RACE_MAX_GROUPS], counters[RACE_LOOK_AHEAD] = n_groups, 1
    counters[RACE_HELD], counters[RACE_VALID_UNTIL] = NOBODY, NEVER
    levels = np.zeros(6)
    levels[CONSTANT] = constant
    return state_class(
        pairs=np.zeros((n_pairs, 5), np.int64),
        groups=np.zeros((n_groups, 5), np.int64),
        tangents=np.zeros((n_groups, 2)),
        buckets=np.full(1 << (2 * n_groups).bit_length(), NOBODY),
        counters=counters,
        levels=levels,
        **more,
    )


@inlined
def group_of(state: Any, pulls: int, clicks: int) -> int:
    """Return the group of these counts, made if there is none. The caller sees to it that a slot is free."""
    groups, buckets = state.groups, state.buckets
    mask = len(buckets) - 1
    bucket = (pulls * _SPREAD + clicks) & mask
    while buckets[bucket] != NOBODY:
        group = buckets[bucket]
        if groups[group, PULLS] == pulls and groups[group, CLICKS] == clicks:
            return group
        bucket = (bucket + 1) & mask
    group = state.counters[RACE_N_GROUPS]
    state.counters[RACE_N_GROUPS] += 1
    buckets[bucket] = group
    groups[group, PULLS], groups[group, CLICKS], groups[group, QUEUE_BUCKET] = pulls, clicks, bucket
    groups[group, QUEUE_FIRST] = groups[group, QUEUE_LAST] = NOBODY
    return group


@inlined
def follow(state: Any, group: int, before: int, after: int) -> None:
    """Let one pair come right after another in the group's queue; NOBODY stands beyond either end."""
    if before == NOBODY:
        state.groups[group, QUEUE_FIRST] = after
    else:
        state.pairs[before, AFTER] = after
    if after == NOBODY:
        state.groups[group, QUEUE_LAST] = before
    else:
        state.pairs[after, BEFORE] = before


@inlined
def join(state: Any, group: int, combination: int) -> None:
    """Put the pair into the group's queue, behind those chosen before it."""
    pairs = state.pairs
    before, after = state.groups[group, QUEUE_LAST], NOBODY
    while before != NOBODY and pairs[before, CHOSEN] > pairs[combination, CHOSEN]:  # its outcome came late
        before, after = pairs[before, BEFORE], before
    follow(state, group, before, combination)
    follow(state, group, combination, after)


@inlined
def leave(state: Any, group: int, combination: int) -> None:
    """Take the pair out of the group's queue."""
    follow(state, group, state.pairs[combination, BEFORE], state.pairs[combination, AFTER])


@noalloc
def drop_empty_groups(state: Any) -> None:
    """Forget the groups without pairs; the others move up (their tangents do not: the caller draws them anew)."""
    groups, buckets, counters = state.groups, state.buckets, state.counters
    n_groups = counters[RACE_N_GROUPS]
    for group in range(n_groups):
        buckets[groups[group, QUEUE_BUCKET]] = NOBODY
    counters[RACE_N_GROUPS] = 0
    for group in range(n_groups):
        first, last = groups[group, QUEUE_FIRST], groups[group, QUEUE_LAST]
        if first != NOBODY:
            kept = group_of(state, groups[group, PULLS], groups[group, CLICKS])
            groups[kept, QUEUE_FIRST], groups[kept, QUEUE_LAST] = first, last


@noalloc
def queue_all(state: Any, rng: Any) -> None:
    """Put every pair into the group without outcomes, in random order: ties never follow numbering."""
    pairs, n_pairs = state.pairs, len(state.pairs)
    for combination in range(n_pairs):
        other = int(rng.random() * (combination + 1))
        pairs[combination, CHOSEN] = pairs[other, CHOSEN]
        pairs[other, CHOSEN] = combination - n_pairs
    group = group_of(state, pairs[0, PULLS], pairs[0, CLICKS])
    for combination in range(n_pairs):  # PULLS, all zero so far, hold the order for a moment
        pairs[pairs[combination, CHOSEN] + n_pairs, PULLS] = combination
    for position in range(n_pairs):
        join(state, group, pairs[position, PULLS])
        pairs[position, PULLS] = 0
