"""What the flat policies share that watch every pair for a change: an index for each, exploration, a new start.

A policy registers `index_of`, the optimistic value of a pair, and `alarmed`, which looks at an outcome that has just
been counted and says how much has to be forgotten. The largest index is chosen, ties at random; a pair without outcomes
comes first. A share of the decisions goes to all pairs in turn or at random, so that a change of any of them is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched
from rankone.errors import InputError
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.policies.beliefs import combination_view
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import is_forbidden, number_of, write_levels
from rankone.specs import whole_number

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
State = TypeVar("State")
# Fields of `RestartState.clock`; what `alarmed` returns.
RESTART_STEP, RESTART_COUNT = range(2)
NO_PAIR, THIS_PAIR, ALL_PAIRS = range(3)


class RestartState(NamedTuple):
    """Counts since the last new start, and what a policy needs to see changes."""

    pulls: Ints  # (n,)
    clicks: Ints  # (n,)
    clock: Ints  # (2,) decisions since everything was forgotten, alarms so far
    level: Floats  # constants of the policy; the first is the period of exploration, or 0
    watched: Floats  # (n, ...) what the policy keeps of each pair
    kept: Ints  # (n,) and how much
    sizes: Ints  # (D,)
    forbidden: Ints  # (rules, D)


def start_restarting(
    state_class: Callable[..., State], name: str, sizes: Ints, forbidden: Ints, watched: tuple[int, ...], *level: float
) -> State:
    """Return the state before the first decision, with room for what is watched of each pair."""
    check_kept(sizes, name)
    n = math.prod(sizes.tolist())
    if n * math.prod(watched) > 100_000_000:
        got = f"{n:,} combinations"
        raise InputError(f"few enough combinations for {name} to watch each", got, "choose 'glr-uts'")
    counts = np.zeros((3, n), np.int64)
    constants = np.array(level, np.float64)
    kept, clock = counts[2], np.zeros(2, np.int64)
    return state_class(counts[0], counts[1], clock, constants, np.zeros((n, *watched)), kept, sizes, forbidden)


def expected_changes(breaks: Any, horizon: int) -> int:
    """Return how many changes are expected; refuse what is no such number."""
    return whole_number("breaks", breaks, least=1, most=horizon, example=3)


@dispatched
def index_of(state: Any, pair: int, step: int) -> float:
    """Return the optimistic value of a pair that has outcomes, `step` decisions after everything was forgotten."""
    raise NotImplementedError


@dispatched
def alarmed(state: Any, pair: int, reward: int) -> int:
    """Look at an outcome that was just counted; return NO_PAIR, THIS_PAIR or ALL_PAIRS, whatever is to be forgotten."""
    raise NotImplementedError


@noalloc
def forget(state: RestartState, pair: int) -> None:
    """Forget the outcomes of a pair."""
    state.pulls[pair] = state.clicks[pair] = state.kept[pair] = 0


@noalloc
def explored_now(state: RestartState, step: int) -> int:
    """Return the pair whose turn it is to be explored, -1 if it is none's: all in turn, once in a period."""
    period = int(state.level[0])
    place = step % period if period > 0 else len(state.pulls)
    if place >= len(state.pulls):
        return -1
    return place if len(state.forbidden) == 0 or not is_forbidden(state.sizes, state.forbidden, place) else -1


@noalloc
def largest_index(state: Any, step: int, rng: Any) -> int:
    """Return the pair with the largest index, ties at random."""
    found, best, tied = 0, -1.0, 0
    for pair in range(len(state.pulls)):
        if len(state.forbidden) > 0 and is_forbidden(state.sizes, state.forbidden, pair):
            continue
        value = index_of(state, pair, step) if state.pulls[pair] > 0 else math.inf
        if value > best:
            found, best, tied = pair, value, 1
        elif value == best:
            tied += 1
            if rng.random() * tied < 1.0:
                found = pair
    return found


@decide.register(RestartState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    step = state.clock[RESTART_STEP]
    state.clock[RESTART_STEP] += 1
    pair = explored_now(state, step)
    if pair < 0:
        pair = largest_index(state, step, rng)
    write_levels(state.sizes, pair, shown)
    return 0


@noalloc
def count_and_look(state: Any, pair: int, reward: int) -> None:
    """Count an outcome; forget what has to be forgotten."""
    state.pulls[pair] += 1
    state.clicks[pair] += reward
    much = alarmed(state, pair, reward)
    if much == NO_PAIR:
        return
    state.clock[RESTART_COUNT] += 1
    if much == THIS_PAIR:
        forget(state, pair)
        return
    state.clock[RESTART_STEP] = 0
    for other in range(len(state.pulls)):
        forget(state, other)


@learn.register(RestartState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    count_and_look(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(RestartState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)  # when they came is not known, so they are counted and not looked at
    state.pulls[pair] += pulls
    state.clicks[pair] += clicks
    state.clock[RESTART_STEP] += pulls


@view.register(RestartState)
def _view(state: Any) -> View | None:
    none = np.full(len(state.pulls), np.nan)
    return combination_view(state, none, none, "")
