"""Counts that forget: each outcome counts less as others come (a discount), or only the latest count (a window).

With a discount gamma every count is multiplied by gamma at each outcome. Nobody multiplies them all: counts are kept in
units that grow by 1 / gamma at each outcome, and only the unit is (`scale`). With a window the outcomes that count are
kept in a ring; when a new one comes, the oldest is taken back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import View, learn, relearn, view
from rankone.numerics.beta import draw_beta
from rankone.policies.beliefs import posterior_view
from rankone.policies.combination_policy import check_kept
from rankone.policies.engines.combinations import is_forbidden, number_of, on_cross
from rankone.specs import is_number, whole_number

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
State = TypeVar("State")
FORGET_SCALE, FORGET_GAMMA = range(2)
FORGET_NEXT, FORGET_FULL = range(2)
_TINY = 1e-100
_MOST_KEPT = 10_000_000


class ForgettingState(NamedTuple):
    """Counts of all combinations, in units of `scale`."""

    pulls: Floats  # (n,)
    clicks: Floats  # (n,)
    led: Ints  # (n,) decisions at which the combination led, where there is a leader
    scale: Floats  # (2,) what a unit is worth now, the discount
    ring: Ints  # (window, 2) combination and outcome of the latest outcomes; empty: there is no window
    at: Ints  # (2,) place of the next outcome in the ring, how many it has
    sizes: Ints  # (D,)
    forbidden: Ints  # (rules, D)


def start_forgetting(
    state_class: type[State], name: str, sizes: Ints, forbidden: Ints, gamma: float = 1.0, window: int = 0
) -> State:
    """Return the state before the first decision."""
    check_kept(sizes, name)
    counts, led = np.zeros((2, math.prod(sizes.tolist()))), np.zeros(math.prod(sizes.tolist()), np.int64)
    scale, ring = np.array([1.0, gamma]), np.zeros((window, 2), np.int64)
    return state_class(counts[0], counts[1], led, scale, ring, np.zeros(2, np.int64), sizes, forbidden)  # type: ignore[call-arg]


def check_gamma(gamma: Any) -> None:
    """Refuse a discount that is none."""
    if not is_number(gamma) or not 0.0 < gamma < 1.0:
        raise InputError("gamma as a discount between 0 and 1", gamma, "try gamma=0.9997")


def check_window(window: Any) -> None:
    """Refuse a window that is none."""
    whole_number("window", window, least=1, most=_MOST_KEPT, example=10_000)


@noalloc
def remember(state: ForgettingState, pair: int, reward: int) -> None:
    """Take in an outcome, and forget."""
    pulls, clicks, scale, at = state.pulls, state.clicks, state.scale, state.at
    scale[FORGET_SCALE] *= scale[FORGET_GAMMA]
    if scale[FORGET_SCALE] < _TINY:
        for other in range(len(pulls)):
            pulls[other] *= scale[FORGET_SCALE]
            clicks[other] *= scale[FORGET_SCALE]
        scale[FORGET_SCALE] = 1.0
    pulls[pair] += 1.0 / scale[FORGET_SCALE]
    clicks[pair] += reward / scale[FORGET_SCALE]
    if len(state.ring) > 0:
        place = at[FORGET_NEXT]
        if at[FORGET_FULL] == len(state.ring):
            pulls[state.ring[place, 0]] -= 1.0
            clicks[state.ring[place, 0]] -= state.ring[place, 1]
        else:
            at[FORGET_FULL] += 1
        state.ring[place, 0], state.ring[place, 1] = pair, reward
        at[FORGET_NEXT] = place + 1 if place + 1 < len(state.ring) else 0


@noalloc
def draw_of(state: ForgettingState, pair: int, rng: Any) -> float:
    """Draw from the posterior of a combination on what is remembered."""
    unit = state.scale[FORGET_SCALE]
    clicks = state.clicks[pair] * unit
    return draw_beta(max(state.pulls[pair] * unit, clicks), clicks, rng)


@noalloc
def may_show(state: ForgettingState, pair: int) -> bool:
    """Tell whether a combination is not forbidden."""
    return len(state.forbidden) == 0 or not is_forbidden(state.sizes, state.forbidden, pair)


@noalloc
def largest_draw(state: ForgettingState, rng: Any) -> int:
    """Let all combinations draw; return the one with the largest draw."""
    winner, largest = 0, -1.0
    for pair in range(len(state.pulls)):
        if may_show(state, pair):
            draw = draw_of(state, pair, rng)
            if draw > largest:
                winner, largest = pair, draw
    return winner


@noalloc
def leader_now(state: ForgettingState, rng: Any) -> int:
    """Return the combination with the best mean of what is remembered, ties at random; any, if nothing is."""
    leader, best, tied = 0, -2.0, 0
    for pair in range(len(state.pulls)):
        if not may_show(state, pair):
            continue
        mean = state.clicks[pair] / state.pulls[pair] if state.pulls[pair] > 0.0 else -1.0
        if mean > best:
            leader, best, tied = pair, mean, 1
        elif mean == best:
            tied += 1
            if rng.random() * tied < 1.0:
                leader = pair
    return leader


@noalloc
def unimodal_step(state: ForgettingState, gamma: int, rng: Any) -> int:
    """A step of UTS on what is remembered; where something is forbidden, all that is not draws, not only the cross."""
    leader = leader_now(state, rng)
    state.led[leader] += 1
    if state.led[leader] % gamma == 0:
        return leader
    if len(state.forbidden) > 0:
        return largest_draw(state, rng)
    winner, largest, cross = leader, draw_of(state, leader, rng), -len(state.sizes)
    for factor in range(len(state.sizes)):
        cross += state.sizes[factor]
    for place in range(cross):
        pair = on_cross(state.sizes, leader, place)
        draw = draw_of(state, pair, rng)
        if draw > largest:
            winner, largest = pair, draw
    return winner


@learn.register(ForgettingState)
def _learn(state: ForgettingState, shown: Any, tag: int, outcome: Any) -> None:
    remember(state, number_of(state.sizes, shown), outcome[0])


@relearn.register(ForgettingState)
def _relearn(state: ForgettingState, shown: Any, pulls: int, clicks: int) -> None:
    pair = number_of(state.sizes, shown)
    for place in range(pulls):  # clicks evenly among them, as when they came is not known
        remember(state, pair, (place + 1) * clicks // pulls - place * clicks // pulls)


@view.register(ForgettingState)
def _view(state: ForgettingState) -> View | None:
    whole = {name: np.rint(getattr(state, name) * state.scale[FORGET_SCALE]) for name in ("pulls", "clicks")}
    return posterior_view(state._replace(**{name: counts.astype(np.int64) for name, counts in whole.items()}))
