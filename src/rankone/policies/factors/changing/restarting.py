"""Flat policies that watch every pair for a change and then start anew: an index for each pair, and exploration.

* `cusum-ucb` (CUSUM-UCB: Liu, Lee, Shroff, "A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed
  Bandit Problem", AAAI 2018, Algorithms 1 and 2). The first M outcomes of a pair give its reference mean u. Of each
  later outcome y the two sums g+ = max(0, g+ + y - u - eps) and g- = max(0, g- + u - y - eps) are kept; when one
  exceeds h = log(T / breaks), that pair is forgotten. With probability alpha = sqrt(breaks / T * log(T / breaks)) a
  random pair is chosen, otherwise the one with the largest mean + sqrt(log n / pulls), n being the outcomes that are
  remembered of all pairs. (Reference outcomes are not summed.)
* `glr-kl-ucb` (GLR-klUCB with global restarts: Besson, Kaufmann, Maillard, Seznec, "Efficient Change-Point Detection
  for Tackling Piecewise-Stationary Bandits", JMLR 2022, Algorithm 1). After every eighth outcome of a pair its outcomes
  since the last new start are tested at geometrically spaced splits (`rankone.numerics.change_point`), at threshold
  log(3 n^1.5 / delta) with delta = 1 / sqrt(breaks * T). On alarm everything is forgotten. Otherwise the pair with the
  largest ``max{q : pulls * d(mean, q) <= log t}`` is chosen, t being the decisions since the last new start; the share
  alpha = 0.1 sqrt(breaks * log T / T) of the decisions (a tenth of the theory's, as the authors recommend) goes to all
  pairs in turn. Rates are tested, so a moving site rings as well.
* `m-ucb` (M-UCB: Cao, Wen, Kveton, Xie, "Nearly Optimal Adaptive Procedure with Change Detection for
  Piecewise-Stationary Bandit", AISTATS 2019, Algorithms 1 and 2). Of each pair the last w outcomes are kept. When the
  sums of their two halves differ by more than b = sqrt(w / 2 * log(2 K T^2)), K being the number of pairs, everything
  is forgotten. Otherwise UCB1 chooses; the share gamma = sqrt(breaks * K * (2 b + 3 sqrt(w)) / (2 T)) of the decisions
  goes to all pairs in turn.

A policy registers `index_of`, the optimistic value of a pair, and `alarmed`, which looks at an outcome that has just
been counted and says how much has to be forgotten.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched
from rankone.errors import InputError
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.change_point import MOST_BUCKETS, changed_rate, note_outcome
from rankone.numerics.kl import kl_upper
from rankone.policies.base import needed_horizon
from rankone.policies.combination_policy import CombinationPolicy, combination_view
from rankone.policies.engines.combinations import learn_combination, may_show, number_of, record_outcome, write_levels
from rankone.specs import whole_number

# Fields of `RestartState.counters`; what `alarmed` returns.
RESTART_STEP, RESTART_COUNT = range(2)
FORGET_NOTHING, FORGET_ONE, FORGET_ALL = range(3)
# Of `cusum-ucb`: constants, and what is watched of a pair.
CUSUM_ALPHA, CUSUM_EPS, CUSUM_H, CUSUM_FIRST = range(1, 5)
CUSUM_UP, CUSUM_DOWN, CUSUM_CLICKS = range(3)


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


class CusumUCBState(RestartState):
    """Watched of a pair: g+, g- and the clicks among the first M outcomes; constants: 0, alpha, eps, h, M."""


class GLRKLUCBState(RestartState):
    """What is watched are buckets of outcomes; constants: period of exploration, delta."""


class MUCBState(RestartState):
    """What is watched are the last outcomes, in a ring; constants: period of exploration, b."""


class _Restarting(CombinationPolicy):
    keeps_each = True

    def _expected(self, given: int | None, breaks: int) -> tuple[int, int]:
        """Return the horizon and how many changes are expected; refuse what is no such number."""
        horizon = needed_horizon(self, given)
        return horizon, whole_number("breaks", breaks, least=1, most=horizon, example=3)

    def _begin_watching(self, kind: Any, sizes: Ints, forbidden: Ints, watched: tuple[int, ...], *given: float) -> Any:
        """Return the state before the first decision, with room for what is watched of each pair."""
        n = math.prod(sizes.tolist())
        if n * math.prod(watched) > 100_000_000:
            got = f"{n:,} combinations"
            raise InputError(f"few enough combinations for {self.name} to watch each", got, "choose 'glr-uts'")
        pulls, clicks, kept = np.zeros((3, n), np.int64)
        constants, counters = np.array(given, np.float64), np.zeros(2, np.int64)
        return kind(pulls, clicks, counters, constants, np.zeros((n, *watched)), kept, sizes, forbidden)


@dataclass(frozen=True)
class CusumUCB(_Restarting):
    """UCB that forgets a pair when its outcomes drift away from its first ones: a reference.

    Args:
        horizon: number of decisions; a study fills it in.
        eps: how far a rate may move before it counts as a change.
        first: outcomes that make the reference mean.
        breaks: changes that are expected.
    """

    horizon: int | None = None
    eps: Annotated[float, "(0, 1)"] = 0.1
    first: Annotated[int, "[1, inf)"] = 100
    breaks: int = 3
    name = "cusum-ucb"
    use_when = "a reference: a world in which single pairs change"

    def _begin(self, sizes: Ints, forbidden: Ints) -> CusumUCBState:
        horizon, breaks = self._expected(self.horizon, self.breaks)
        height = math.log(horizon / breaks)
        alpha = math.sqrt(breaks / horizon * height)
        return self._begin_watching(
            CusumUCBState, sizes, forbidden, (3,), 0.0, alpha, self.eps, height, float(self.first)
        )


@dataclass(frozen=True)
class GLRKLUCB(_Restarting):
    """KL-UCB that forgets all when the rate of a pair has changed, every pair for itself: a reference.

    Args:
        horizon: number of decisions; a study fills it in.
        breaks: changes that are expected.
    """

    horizon: int | None = None
    breaks: int = 3
    name = "glr-kl-ucb"
    use_when = "a reference: a world with sudden changes, pairs that need not be rank-1"

    def _begin(self, sizes: Ints, forbidden: Ints) -> GLRKLUCBState:
        horizon, breaks = self._expected(self.horizon, self.breaks)
        alpha = 0.1 * math.sqrt(breaks * math.log(max(horizon, 2)) / horizon)
        period, delta = math.prod(sizes.tolist()) / alpha, 1.0 / math.sqrt(breaks * horizon)
        return self._begin_watching(GLRKLUCBState, sizes, forbidden, (MOST_BUCKETS, 2), period, delta)


@dataclass(frozen=True)
class MUCB(_Restarting):
    """UCB1 that forgets all when the last outcomes of a pair differ from those before: a reference.

    Args:
        horizon: number of decisions; a study fills it in.
        window: outcomes of a pair that are compared, half with half; an even number.
        breaks: changes that are expected.
    """

    horizon: int | None = None
    window: Annotated[int, "[2, 1000000]"] = 200
    breaks: int = 3
    name = "m-ucb"
    use_when = "a reference: a world with sudden, large changes"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("an even window", self.window, most=self.window // 2 * 2)

    def _begin(self, sizes: Ints, forbidden: Ints) -> MUCBState:
        (horizon, breaks), pairs = self._expected(self.horizon, self.breaks), math.prod(sizes.tolist())
        bound = math.sqrt(self.window / 2.0 * math.log(2.0 * pairs * horizon * horizon))
        gamma = math.sqrt(breaks * pairs * (2.0 * bound + 3.0 * math.sqrt(self.window)) / (2.0 * horizon))
        return self._begin_watching(
            MUCBState, sizes, forbidden, (self.window,), math.ceil(pairs / min(gamma, 1.0)), bound
        )


@dispatched
def index_of(state: Any, combination: int, step: int) -> float:
    """Return the optimistic value of a pair that has outcomes, `step` decisions after everything was forgotten."""
    raise NotImplementedError


@index_of.register(CusumUCBState)
def _index_of_cusum(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return state.clicks[combination] / pulls + math.sqrt(math.log(max(1.0, float(step))) / pulls)


@index_of.register(GLRKLUCBState)
def _index_of_glr(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return kl_upper(state.clicks[combination] / pulls, math.log(max(1.0, float(step))) / pulls)


@index_of.register(MUCBState)
def _index_of_m(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return state.clicks[combination] / pulls + math.sqrt(2.0 * math.log(max(1.0, float(step))) / pulls)


@dispatched
def alarmed(state: Any, combination: int, reward: int) -> int:
    """Look at an outcome that was just counted; return FORGET_NOTHING, FORGET_ONE or FORGET_ALL."""
    raise NotImplementedError


@alarmed.register(CusumUCBState)
def _alarmed_cusum(state: Any, combination: int, reward: int) -> int:
    own, first = state.watched[combination], state.constants[CUSUM_FIRST]
    if state.kept[combination] == 0:
        own[CUSUM_UP] = own[CUSUM_DOWN] = own[CUSUM_CLICKS] = 0.0
    state.kept[combination] += 1
    if state.kept[combination] <= first:
        own[CUSUM_CLICKS] += reward
        return FORGET_NOTHING
    above = reward - own[CUSUM_CLICKS] / first
    own[CUSUM_UP] = max(0.0, own[CUSUM_UP] + above - state.constants[CUSUM_EPS])
    own[CUSUM_DOWN] = max(0.0, own[CUSUM_DOWN] - above - state.constants[CUSUM_EPS])
    return FORGET_ONE if max(own[CUSUM_UP], own[CUSUM_DOWN]) > state.constants[CUSUM_H] else FORGET_NOTHING


@alarmed.register(GLRKLUCBState)
def _alarmed_glr(state: Any, combination: int, reward: int) -> int:
    full = note_outcome(state.watched, state.kept, combination, reward)
    changed = full and changed_rate(state.watched, state.kept, combination, state.constants[1]) >= 0
    return FORGET_ALL if changed else FORGET_NOTHING


@alarmed.register(MUCBState)
def _alarmed_m(state: Any, combination: int, reward: int) -> int:
    ring = state.watched[combination]
    window = len(ring)
    ring[state.kept[combination] % window] = reward
    state.kept[combination] += 1
    if state.kept[combination] < window:
        return FORGET_NOTHING
    oldest, difference = state.kept[combination] % window, 0.0
    for index in range(window):
        value = ring[(oldest + index) % window]
        difference += value if index >= window // 2 else -value
    return FORGET_ALL if abs(difference) > state.constants[1] else FORGET_NOTHING


@noalloc
def explored_now(state: RestartState, step: int) -> int:
    """Return the pair whose turn it is to be explored, -1 if it is none's: all in turn, once in a period."""
    period = int(state.constants[0])
    position = step % period if period > 0 else len(state.pulls)
    return position if position < len(state.pulls) and may_show(state, position) else -1


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


@decide.register(CusumUCBState)
def _decide_cusum(state: Any, context: Any, rng: Any, shown: Any) -> int:
    known = 0
    for combination in range(len(state.pulls)):
        known += state.pulls[combination]
    state.counters[RESTART_STEP] += 1
    combination = int(rng.random() * len(state.pulls)) if rng.random() < state.constants[CUSUM_ALPHA] else -1
    if combination < 0 or not may_show(state, combination):
        combination = largest_index(state, known, rng)
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
        state.pulls[combination] = state.clicks[combination] = state.kept[combination] = 0
        return
    state.counters[RESTART_STEP] = 0
    state.pulls[:] = state.clicks[:] = state.kept[:] = 0


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
