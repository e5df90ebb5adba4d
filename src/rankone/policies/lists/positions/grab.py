"""GRAB: Gauthier, Gaudel, Fromont, Lompo, "Parametric Graph for Unimodal Ranking Bandit" (ICML 2021), Algorithm 1.

Nothing is known of positions, not even their order. Every item at every position is an arm with a mean (0 if never
shown) and an upper bound ``max{q : N d(mean, q) <= log T}`` (1 if never shown).

* The *leader* is the list with the largest sum of means: an assignment of items to positions.
* Its *neighbours*: sort positions by the leader's means; exchange the items of two that follow each other, or put an
  item that is not in the list at the last of them. A neighbour gains what the bounds of its new places are more than
  those of the old ones.
* The neighbour that gains most is shown if it gains anything, otherwise the leader; every gamma-th time that a list
  leads it is shown itself.

Ties between leaders go by numbers drawn once, those between neighbours are drawn each time. How often each list has led
is kept in a table of 4,096 places; one that another pushes out starts again.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.assignment import assign
from rankone.numerics.kl import kl_upper
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy, needed_horizon
from rankone.policies.engines.lists.layout import rank_largest

_COUNTED = 4_096  # lists that have led
_TINY = 1e-12
# Fields of `GrabState.counters`.
STARTED, GRAB_STALE, GRAB_COUNTER, GAMMA = range(4)


class GrabState(NamedTuple):
    """What was seen of every item at every position, and who leads."""

    shows: Annotated[Ints, "L, K"]
    clicks: Annotated[Ints, "L, K"]
    high: Annotated[Floats, "L, K"]  # upper bounds
    means: Annotated[Floats, "L, K"]  # with what breaks ties
    ties: Annotated[Floats, "L, K"]
    leader: Annotated[Ints, "K"]
    heights: Annotated[Floats, "K"]  # means of the leader
    order: Annotated[Ints, "K"]  # positions, the largest mean first
    inside: Annotated[Ints, "L"]  # 1 for the items of the leader
    led: Annotated[Ints, "2, 4096"]  # a mark of each leader, and how often it has led
    counters: Annotated[Ints, "4"]  # has it begun; is the leader to be found again; where it is counted; gamma
    duals: Annotated[Floats, "3, M"]  # scratch space of the assignment; M is L + 1
    pairs: Annotated[Ints, "3, M"]  # likewise
    constants: Annotated[Floats, "1"]  # log T


@dataclass(frozen=True)
class Grab(ListPolicy):
    """Compares the best list so far with its neighbours, place by place; learns which position is best, too.

    Args:
        horizon: number of lists; a study fills it in.
        gamma: how often a leader is shown itself: every gamma-th time it leads; default: one less than there are items.
    """

    name = "grab"
    use_when = "a comparison with the literature on unknown order of positions"
    horizon: int | None = None
    gamma: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, n_items: int, n_positions: int) -> GrabState:
        gamma = max(1, n_items - 1) if self.gamma is None else self.gamma
        log_horizon = math.log(needed_horizon(self, self.horizon))
        sizes, counters = {"L": n_items, "K": n_positions, "M": n_items + 1}, [0, 1, 0, gamma]
        return start_state(GrabState, **sizes, high=1.0, counters=counters, constants=log_horizon)


@noalloc
def _draw_ties(state: Any, rng: Any) -> None:
    for item in range(len(state.inside)):
        for position in range(len(state.leader)):
            state.means[item, position] = state.ties[item, position] = _TINY * rng.random()
    state.counters[STARTED] = 1


@noalloc
def _find_leader(state: Any) -> None:
    leader, counters = state.leader, state.counters
    for position in range(len(leader)):
        state.inside[leader[position]] = 0
    assign(state.means, state.duals, state.pairs, leader)
    mark = np.uint64(0x9E3779B97F4A7C15)
    for position in range(len(leader)):
        state.inside[leader[position]] = 1
        state.heights[position] = state.means[leader[position], position]
        mark = (mark ^ np.uint64(leader[position] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
        mark ^= mark >> np.uint64(29)
    rank_largest(state.heights, state.heights, state.order)
    counters[GRAB_STALE], counters[GRAB_COUNTER] = 0, np.int64(mark >> np.uint64(40)) % _COUNTED
    if state.led[0, counters[GRAB_COUNTER]] != np.int64(mark >> np.uint64(1)):
        state.led[0, counters[GRAB_COUNTER]], state.led[1, counters[GRAB_COUNTER]] = np.int64(mark >> np.uint64(1)), 0


@noalloc
def _gain(state: Any, change: int) -> float:
    """Return what a change of the leader gains by the upper bounds: two that follow each other swap, from the rank of
    the first, or, from the number of positions on, an item takes the last place; below 0: it is in the list already."""
    leader, high, order, n_positions = state.leader, state.high, state.order, len(state.order)
    if change < n_positions - 1:
        one, other = order[change], order[change + 1]
        apart = high[leader[one], one] + high[leader[other], other]
        return (high[leader[other], one] + high[leader[one], other]) - apart
    item, last = change - n_positions, order[n_positions - 1]
    return high[item, last] - high[leader[last], last] if item >= 0 and state.inside[item] == 0 else -1.0


@noalloc
def _best_change(state: Any, rng: Any) -> int:
    """Return the change of the leader that gains most (see `_gain`), ties at random; -1: none is better."""
    best, most, ties = -1, 0.0, 0
    for change in range(len(state.order) + len(state.inside)):
        gain = _gain(state, change)
        if gain > 0.0 and gain >= most:
            ties = ties + 1 if gain == most else 1
            if rng.random() * ties < 1.0:
                best, most = change, gain
    return best


@decide.register(GrabState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    leader, order, n_positions = state.leader, state.order, len(shown)
    if state.counters[STARTED] == 0:
        _draw_ties(state, rng)
    if state.counters[GRAB_STALE]:
        _find_leader(state)
    state.led[1, state.counters[GRAB_COUNTER]] += 1
    for position in range(n_positions):
        shown[position] = leader[position]
    if state.led[1, state.counters[GRAB_COUNTER]] % state.counters[GAMMA] == 0:
        return 0
    best = _best_change(state, rng)
    if best >= n_positions:
        shown[order[n_positions - 1]] = best - n_positions
    elif best >= 0:
        shown[order[best]], shown[order[best + 1]] = leader[order[best + 1]], leader[order[best]]
    return 0


@learn.register(GrabState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item = shown[position]
        state.shows[item, position] += 1
        state.clicks[item, position] += outcome[position]
        shows = state.shows[item, position]
        mean = state.clicks[item, position] / shows
        state.means[item, position] = mean + state.ties[item, position]
        state.high[item, position] = kl_upper(mean, state.constants[0] / shows)
    state.counters[GRAB_STALE] = 1
