"""What the flat policies share that watch every pair for a change: an index for each, exploration, a new start.

A policy registers `index_of`, the optimistic value of a pair, and `alarmed`, which looks at an outcome that has just
been counted and says how much has to be forgotten. A share of the decisions explores all pairs.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched
from rankone.errors import InputError
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.combination_policy import combination_view
from rankone.policies.engines.combinations import learn_combination, may_show, number_of, record_outcome, write_levels
from rankone.specs import whole_number

State = TypeVar("State")
# Fields of `RestartState.counters`; what `alarmed` returns.
RESTART_STEP, RESTART_COUNT = range(2)
FORGET_NOTHING, FORGET_ONE, FORGET_ALL = range(3)


class RestartState(NamedTuple):
    """Counts since the last new start, and what a policy needs to see changes."""

    pulls: Ints  # (n,)
    clicks: Ints  # (n,)
    counters: Ints  # (2,) decisions since everything was forgotten, alarms so far
    constants: Floats  # of the policy; the first is the period of exploration, or 0
    watched: Floats  # (n, ...) what the policy keeps of each pair
    kept: Ints  # (n,) and how much
    sizes: Ints  # (D,)
    forbidden: Ints  # (rules, D)


def start_restarting(
    state_class: Callable[..., State],
    name: str,
    sizes: Ints,
    forbidden: Ints,
    watched: tuple[int, ...],
    *constants: float,
) -> State:
    """Return the state before the first decision, with room for what is watched of each pair."""
    n = math.prod(sizes.tolist())
    if n * math.prod(watched) > 100_000_000:
        got = f"{n:,} combinations"
        raise InputError(f"few enough combinations for {name} to watch each", got, "choose 'glr-uts'")
    counts = np.zeros((3, n), np.int64)
    given, kept, counters = np.array(constants, np.float64), counts[2], np.zeros(2, np.int64)
    return state_class(counts[0], counts[1], counters, given, np.zeros((n, *watched)), kept, sizes, forbidden)


def expected_changes(breaks: Any, horizon: int) -> int:
    """Return how many changes are expected; refuse what is no such number."""
    return whole_number("breaks", breaks, least=1, most=horizon, example=3)


@dispatched
def index_of(state: Any, combination: int, step: int) -> float:
    """Return the optimistic value of a pair that has outcomes, `step` decisions after everything was forgotten."""
    raise NotImplementedError


@dispatched
def alarmed(state: Any, combination: int, reward: int) -> int:
    """Look at an outcome that was just counted; return FORGET_NOTHING, FORGET_ONE or FORGET_ALL."""
    raise NotImplementedError


@noalloc
def forget(state: RestartState, combination: int) -> None:
    """Forget the outcomes of a pair."""
    state.pulls[combination] = state.clicks[combination] = state.kept[combination] = 0


@noalloc
def explored_now(state: RestartState, step: int) -> int:
    """Return the pair whose turn it is to be explored, -1 if it is none's: all in turn, once in a period."""
    period = int(state.constants[0])
    position = step % period if period > 0 else len(state.pulls)
    if position >= len(state.pulls):
        return -1
    return position if may_show(state, position) else -1


@noalloc
def largest_index(state: Any, step: int, rng: Any) -> int:
    """Return the pair with the largest index, ties at random."""
    result, best, tied = 0, -1.0, 0
    for combination in range(len(state.pulls)):
        if not may_show(state, combination):
            continue
        value = index_of(state, combination, step) if state.pulls[combination] > 0 else math.inf
        if value > best:
            result, best, tied = combination, value, 1
        elif value == best:
            tied += 1
            if rng.random() * tied < 1.0:
                result = combination
    return result


@decide.register(RestartState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    step = state.counters[RESTART_STEP]
    state.counters[RESTART_STEP] += 1
    combination = explored_now(state, step)
    if combination < 0:
        combination = largest_index(state, step, rng)
    write_levels(state.sizes, combination, shown)
    return 0


@record_outcome.register(RestartState)
def _record_outcome(state: Any, combination: int, reward: int) -> None:
    """Count an outcome; forget what has to be forgotten."""
    state.pulls[combination] += 1
    state.clicks[combination] += reward
    much = alarmed(state, combination, reward)
    if much == FORGET_NOTHING:
        return
    state.counters[RESTART_COUNT] += 1
    if much == FORGET_ONE:
        forget(state, combination)
        return
    state.counters[RESTART_STEP] = 0
    for other in range(len(state.pulls)):
        forget(state, other)


learn.register(RestartState)(learn_combination)


@relearn.register(RestartState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    combination = number_of(state.sizes, shown)  # when they came is not known, so they are counted and not looked at
    state.pulls[combination] += pulls
    state.clicks[combination] += clicks
    state.counters[RESTART_STEP] += pulls


@view.register(RestartState)
def _view(state: Any) -> View | None:
    none = np.full(len(state.pulls), np.nan)
    return combination_view(state, none, none, "")
