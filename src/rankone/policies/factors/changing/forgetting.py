"""UTS and Thompson sampling that forget: each outcome counts less as others come, or only the latest count.

* `d-ts`: Raj, Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach" (2017), Algorithm 1: at each outcome the
  clicks and misses of every pair are multiplied by gamma. Every pair draws, and the largest draw is chosen.
* `sw-ts`: Trovo, Paladino, Restelli, Gatti, "Sliding-Window Thompson Sampling for Non-Stationary Settings" (JAIR 2020),
  Algorithm 1: draws by the latest outcomes, those of all pairs together.
* `discounted-uts` and `sliding-uts` are ours: unimodal Thompson sampling (`rankone.policies.factors.unimodal.uts`) on
  such counts, as sliding-window OSUB (Combes, Proutiere, "Unimodal Bandits", ICML 2014, section 5).

They need no alarm, forget all the time, and pay for it where nothing changes. Counts are kept in units that grow by
1 / gamma at each outcome (`scale`). The outcomes of a window are kept in a ring; a new one takes the oldest back.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.combination_policy import CombinationPolicy, posterior_view
from rankone.policies.engines.combinations import (
    cross_size,
    learn_combination,
    may_show,
    number_of,
    on_cross,
    record_outcome,
    write_levels,
)

FORGET_SCALE, FORGET_GAMMA = range(2)
FORGET_NEXT, FORGET_FULL = range(2)
_TINY = 1e-100
_FORCED = 2  # every so many times that it leads, the leader is shown without a draw: UTS's gamma


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


class _Forgetting(CombinationPolicy):
    keeps_each = True
    state_class: ClassVar[type[ForgettingState]]

    def _begin(self, sizes: Ints, forbidden: Ints) -> ForgettingState:
        gamma, window = getattr(self, "gamma", 1.0), getattr(self, "window", 0)
        counts, led = np.zeros((2, math.prod(sizes.tolist()))), np.zeros(math.prod(sizes.tolist()), np.int64)
        scale, ring = np.array([1.0, gamma]), np.zeros((window, 2), np.int64)
        return self.state_class(counts[0], counts[1], led, scale, ring, np.zeros(2, np.int64), sizes, forbidden)


@record_outcome.register(ForgettingState)
def _record_outcome(state: ForgettingState, combination: int, reward: int) -> None:
    pulls, clicks, scale, at = state.pulls, state.clicks, state.scale, state.at
    scale[FORGET_SCALE] *= scale[FORGET_GAMMA]
    if scale[FORGET_SCALE] < _TINY:
        for other in range(len(pulls)):
            pulls[other] *= scale[FORGET_SCALE]
            clicks[other] *= scale[FORGET_SCALE]
        scale[FORGET_SCALE] = 1.0
    pulls[combination] += 1.0 / scale[FORGET_SCALE]
    clicks[combination] += reward / scale[FORGET_SCALE]
    if len(state.ring) > 0:
        index = at[FORGET_NEXT]
        if at[FORGET_FULL] == len(state.ring):
            pulls[state.ring[index, 0]] -= 1.0
            clicks[state.ring[index, 0]] -= state.ring[index, 1]
        else:
            at[FORGET_FULL] += 1
        state.ring[index, 0], state.ring[index, 1] = combination, reward
        at[FORGET_NEXT] = index + 1 if index + 1 < len(state.ring) else 0


@noalloc
def draw_of(state: ForgettingState, combination: int, rng: Any) -> float:
    """Draw from the posterior of a combination on what is remembered."""
    unit = state.scale[FORGET_SCALE]
    clicks = state.clicks[combination] * unit
    return draw_beta(max(state.pulls[combination] * unit, clicks), clicks, rng)


@noalloc
def largest_draw(state: ForgettingState, rng: Any) -> int:
    """Let all combinations draw; return the one with the largest draw."""
    winner, largest = 0, -1.0
    for combination in range(len(state.pulls)):
        if may_show(state, combination):
            draw = draw_of(state, combination, rng)
            if draw > largest:
                winner, largest = combination, draw
    return winner


@noalloc
def leader_now(state: ForgettingState, rng: Any) -> int:
    """Return the combination with the best mean of what is remembered, ties at random; any, if nothing is."""
    leader, best, tied = 0, -2.0, 0
    for combination in range(len(state.pulls)):
        if not may_show(state, combination):
            continue
        mean = state.clicks[combination] / state.pulls[combination] if state.pulls[combination] > 0.0 else -1.0
        if mean > best:
            leader, best, tied = combination, mean, 1
        elif mean == best:
            tied += 1
            if rng.random() * tied < 1.0:
                leader = combination
    return leader


@noalloc
def unimodal_step(state: ForgettingState, rng: Any) -> int:
    """A step of UTS on what is remembered; where something is forbidden, all that is not draws, not only the cross."""
    leader = leader_now(state, rng)
    state.led[leader] += 1
    if state.led[leader] % _FORCED == 0:
        return leader
    if len(state.forbidden) > 0:
        return largest_draw(state, rng)
    winner, largest = leader, draw_of(state, leader, rng)
    for index in range(cross_size(state.sizes)):
        combination = on_cross(state.sizes, leader, index)
        draw = draw_of(state, combination, rng)
        if draw > largest:
            winner, largest = combination, draw
    return winner


class DrawingState(ForgettingState):
    """All combinations draw."""


class UnimodalState(ForgettingState):
    """The leader and its cross draw."""


@dataclass(frozen=True)
class DTS(_Forgetting):
    """Discounted Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.
    """

    gamma: Annotated[float, "(0, 1)"] = 0.9997
    name = "d-ts"
    use_when = "a reference: a changing world, pairs that need not be rank-1"
    state_class = DrawingState


@dataclass(frozen=True)
class DiscountedUTS(_Forgetting):
    """UTS that forgets gradually: an outcome counts gamma times as much at each later outcome.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.
    """

    gamma: Annotated[float, "(0, 1)"] = 0.9997
    name = "discounted-uts"
    use_when = "a world that changes all the time, slowly"
    state_class = UnimodalState


@dataclass(frozen=True)
class SWTS(_Forgetting):
    """Sliding-window Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        window: so many outcomes count.
    """

    window: Annotated[int, "[1, 10000000]"] = 10_000
    name = "sw-ts"
    use_when = "a reference: a changing world, pairs that need not be rank-1"
    state_class = DrawingState


@dataclass(frozen=True)
class SlidingUTS(_Forgetting):
    """UTS that goes by the latest outcomes and by no others.

    Args:
        window: so many outcomes count.
    """

    window: Annotated[int, "[1, 10000000]"] = 10_000
    name = "sliding-uts"
    use_when = "a world that changes all the time, slowly"
    state_class = UnimodalState


@decide.register(DrawingState)
def _draw(state: ForgettingState, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, largest_draw(state, rng), shown)
    return 0


@decide.register(UnimodalState)
def _draw_near_leader(state: ForgettingState, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, unimodal_step(state, rng), shown)
    return 0


learn.register(ForgettingState)(learn_combination)


@relearn.register(ForgettingState)
def _relearn(state: ForgettingState, shown: Any, pulls: int, clicks: int) -> None:
    combination = number_of(state.sizes, shown)
    for index in range(pulls):  # clicks evenly among them, as when they came is not known
        record_outcome(state, combination, (index + 1) * clicks // pulls - index * clicks // pulls)


@view.register(ForgettingState)
def _view(state: ForgettingState) -> View | None:
    whole = {name: np.rint(getattr(state, name) * state.scale[FORGET_SCALE]) for name in ("pulls", "clicks")}
    return posterior_view(state._replace(**{name: counts.astype(np.int64) for name, counts in whole.items()}))
