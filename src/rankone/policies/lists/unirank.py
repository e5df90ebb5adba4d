"""UniRank: Gauthier, Gaudel, Fromont, "UniRank: Unimodal Bandit Algorithms for Online Ranking" (ICML 2022),
Algorithms 1 and 2. It needs no horizon.

For two items, over the lists in which both were in one subset of what was played and only one of them was clicked, s is
the mean of +1 (the first was clicked) and -1; 0 without such a list. An item that was not shown was not clicked.

* The *leader* is an ordered partition of the items: first the smallest set of which every item has s > 0 against every
  other, then the same of the rest, and so on until K items are placed; what is left is the last subset.
* Its *neighbours* merge two subsets that follow each other (not the last), or add one item of the last subset to the
  one before. A neighbour is worth the largest optimistic s of an item of the lower part against one of the upper:
  ``2 max{q : T d((1 + s) / 2, q) <= log t + 3 log log t} - 1``, T lists that told the two apart, t times that this
  partition has led; 1 if T = 0 or t < 3. (One line of the paper says 0 there; its code, and optimism, say 1.)
* The neighbour worth most is played if it is worth more than 0, otherwise the leader: subsets in order, each in a
  random order, as far as there is room. Ties between neighbours are drawn.

Outcomes may come late: what was played is remembered until 256 other leaders have come; after that an outcome teaches
nothing. How often each partition has led is kept in a table of 4,096 places; one that another pushes out starts again.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Ints, Mask
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy

_REMEMBERED = 256  # leaders
_COUNTED = 4_096  # partitions
# Fields of `UniRankState.counters`.
LEADERS, N_SUBSETS, N_TOP, UNIRANK_STALE, UNIRANK_COUNTER = range(5)
# What is played, as the tag of a list says it: the leader, 1 + a subset merged with the next, or 1 + L + an item added.
_LEADER = 0


class UniRankState(NamedTuple):
    """Who was clicked rather than whom, and the partitions that have led."""

    wins: Annotated[
        npt.NDArray[np.int32], "L, L"
    ]  # lists on which the one was clicked and the other, of the same subset, was not
    beaten: Annotated[Ints, "L"]  # how many others each item beats: s > 0
    subset: Annotated[npt.NDArray[np.int32], "256, L"]  # number of each item's subset, in the last leaders
    order: Annotated[Ints, "L"]  # the items, subset after subset
    ends: Annotated[Ints, "L"]  # where in `order` each subset ends
    played: Annotated[Ints, "L"]  # scratch space: the items in the order that is played
    clicked: Annotated[Mask, "L"]  # scratch space: the items that were clicked
    led: Annotated[Ints, "2, 4096"]  # a mark of each partition, and how often it has led
    counters: Annotated[
        Ints, "5"
    ]  # leaders so far; subsets, and without the last; is it to be found again; where it is counted


@dataclass(frozen=True)
class UniRank(ListPolicy):
    """Compares neighbours in the order it believes in: no click model, no horizon; the top position is the best."""

    name = "unirank"
    use_when = "an unknown click model and no horizon; the top position is the best"

    def _begin(self, n_items: int, n_positions: int) -> UniRankState:
        order = np.arange(n_items)
        return start_state(UniRankState, L=n_items, order=order, played=order, counters=[0, 0, 0, 1, 0])


@noalloc
def _close(state: Any, first: int) -> int:
    """Move the smallest set that beats all the rest to place `first` of `order`; return its end."""
    order, wins, n_items = state.order, state.wins, len(state.order)
    best = first
    for position in range(first + 1, n_items):  # who beats most is in it; nobody here beats an item placed before
        if state.beaten[order[position]] > state.beaten[order[best]]:
            best = position
    order[first], order[best] = order[best], order[first]
    end, looked = first + 1, first
    while looked < end:  # with it everybody whom one of its members does not beat
        member = order[looked]
        for position in range(end, n_items):
            other = order[position]
            if wins[member, other] <= wins[other, member]:
                order[end], order[position] = other, order[end]
                end += 1
        looked += 1
    return end


@noalloc
def _sort_subsets(state: Any, line: int) -> None:
    """Put the items of each subset in order: what is drawn must not depend on how subsets were found."""
    for item in range(len(state.order)):
        subset = state.subset[line, item]
        start = state.ends[subset - 1] if subset > 0 else 0
        state.order[start + state.played[subset]] = item
        state.played[subset] += 1


@noalloc
def _find_leader(state: Any, n_positions: int) -> None:
    counters, n_items = state.counters, len(state.order)
    for position in range(n_items):
        state.order[position] = position
        state.played[position] = 0
    counters[LEADERS] += 1
    line, placed, subset = counters[LEADERS] % _REMEMBERED, 0, 0
    while placed < n_items:
        if placed < n_positions:
            end = _close(state, placed)
            counters[N_TOP] = subset + 1
        else:
            end = n_items
        for position in range(placed, end):
            state.subset[line, state.order[position]] = subset
        state.ends[subset] = placed = end
        subset += 1
    _sort_subsets(state, line)
    counters[N_SUBSETS], counters[UNIRANK_STALE] = subset, 0
    mark = np.uint64(0x9E3779B97F4A7C15)
    for item in range(n_items):
        mark = (mark ^ np.uint64(state.subset[line, item] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
        mark ^= mark >> np.uint64(29)
    counters[UNIRANK_COUNTER] = np.int64(mark >> np.uint64(40)) % _COUNTED
    if state.led[0, counters[UNIRANK_COUNTER]] != np.int64(mark >> np.uint64(1)):
        state.led[0, counters[UNIRANK_COUNTER]], state.led[1, counters[UNIRANK_COUNTER]] = (
            np.int64(mark >> np.uint64(1)),
            0,
        )


@noalloc
def _most_optimistic(state: Any, low: int, start: int, middle: int, level: float) -> float:
    """Return the largest optimistic s of an item against those of the subset above it."""
    largest = 0.0  # of q; s is 2 q - 1
    for high in range(start, middle):
        won, lost = state.wins[low, state.order[high]], state.wins[state.order[high], low]
        met = won + lost
        if met == 0 or level < 0.0:
            return 1.0
        if (
            won > largest * met or met * bernoulli_kl(won / met, largest) <= 1.000001 * level + 1e-12
        ):  # else it is below
            largest = max(largest, kl_upper(won / met, level / met))
    return 2.0 * largest - 1.0


@noalloc
def _choose_neighbour(state: Any, level: float, rng: Any) -> int:
    counters, order, ends = state.counters, state.order, state.ends
    chosen, most, ties = _LEADER, 0.0, 0
    for upper in range(counters[N_SUBSETS] - 1):
        start, middle, end = (ends[upper - 1] if upper > 0 else 0), ends[upper], ends[upper + 1]
        one_by_one = upper + 1 == counters[N_TOP]  # below it is the last subset
        worth = -1.0
        for low in range(middle, end):
            here = _most_optimistic(state, order[low], start, middle, level)
            worth = here if one_by_one else max(worth, here)
            if (one_by_one or low == end - 1) and worth > 0.0 and worth >= most:
                ties = ties + 1 if worth == most else 1
                if rng.random() * ties < 1.0:
                    chosen, most = 1 + (len(order) + order[low] if one_by_one else upper), worth
    return chosen


@decide.register(UniRankState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    counters, ends, played, n_items = state.counters, state.ends, state.played, len(state.order)
    if counters[UNIRANK_STALE]:
        _find_leader(state, len(shown))
    state.led[1, counters[UNIRANK_COUNTER]] += 1
    times = state.led[1, counters[UNIRANK_COUNTER]]
    level = math.log(times) + 3.0 * math.log(max(1.0, math.log(times))) if times >= 3 else -1.0
    code = _choose_neighbour(state, level, rng)
    whole = ends[counters[N_TOP] - 1]
    for position in range(whole):
        played[position] = state.order[position]
    if code > n_items:
        played[whole] = code - n_items - 1
    position = subset = 0
    while position < len(shown):
        if subset == code - 1:
            subset += 1
        end = ends[subset]
        if code > n_items and subset == counters[N_TOP] - 1:
            end += 1
        while position < end and position < len(shown):
            other = position + int(rng.random() * (end - position))
            played[position], played[other] = played[other], played[position]
            shown[position] = played[position]
            position += 1
        subset += 1
    return counters[LEADERS] * (2 * n_items + 1) + code


@noalloc
def _subset_played(state: Any, line: int, code: int, item: int) -> int:
    """Return the subset of an item in what was played."""
    subset = state.subset[line, item]
    below = code > _LEADER and (subset == code or item == code - len(state.order) - 1)
    return subset - 1 if below else subset


@learn.register(UniRankState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    n_items, wins, beaten = len(state.order), state.wins, state.beaten
    leader, code = tag // (2 * n_items + 1), tag % (2 * n_items + 1)
    if state.counters[LEADERS] - leader >= _REMEMBERED:
        return
    line = leader % _REMEMBERED
    for position in range(len(shown)):
        state.clicked[shown[position]] = outcome[position] != 0
    for position in range(len(shown)):
        if outcome[position] == 0:
            continue
        item = shown[position]
        subset = _subset_played(state, line, code, item)
        for other in range(n_items):
            if _subset_played(state, line, code, other) == subset and not state.clicked[other]:
                lead = wins[item, other] - wins[other, item]
                wins[item, other] += 1
                if lead == 0:  # s changes its sign
                    beaten[item] += 1
                    state.counters[UNIRANK_STALE] = 1
                elif lead == -1:
                    beaten[other] -= 1
                    state.counters[UNIRANK_STALE] = 1
    for position in range(len(shown)):
        state.clicked[shown[position]] = False
