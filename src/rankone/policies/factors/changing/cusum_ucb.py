"""CUSUM-UCB: Liu, Lee, Shroff, "A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit Problem"
(AAAI 2018), Algorithms 1 and 2.

The first M outcomes of a pair give its reference mean u. Of each later outcome y the two sums g+ = max(0, g+ + y - u -
eps) and g- = max(0, g- + u - y - eps) are kept; when one exceeds h = log(T / breaks), that pair is forgotten. With
probability alpha = sqrt(breaks / T * log(T / breaks)) a random pair is chosen, otherwise the one with the largest
mean + sqrt(log n / pulls), n being the outcomes that are remembered of all pairs. (Reference outcomes are not summed.)
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.numerics.arrays import Ints
from rankone.policies.base import needed_horizon
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines import restarting
from rankone.policies.engines.combinations import may_show, write_levels

# Constants in `level`, and what is watched of a pair.
CUSUM_ALPHA, CUSUM_EPS, CUSUM_H, CUSUM_FIRST = range(1, 5)
CUSUM_UP, CUSUM_DOWN, CUSUM_CLICKS = range(3)


class CusumUCBState(restarting.RestartState):
    """Watched of a pair: g+, g- and the clicks among the first M outcomes; constants: 0, alpha, eps, h, M."""


@dataclass(frozen=True)
class CusumUCB(CombinationPolicy):
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
    keeps_each = True

    def _begin(self, sizes: Ints, forbidden: Ints) -> CusumUCBState:
        horizon = needed_horizon(self, self.horizon)
        breaks = restarting.expected_changes(self.breaks, horizon)
        height = math.log(horizon / breaks)
        alpha = math.sqrt(breaks / horizon * height)
        constants = 0.0, alpha, self.eps, height, float(self.first)
        return restarting.start_restarting(CusumUCBState, self.name, sizes, forbidden, (3,), *constants)


@decide.register(CusumUCBState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    known = 0
    for combination in range(len(state.pulls)):
        known += state.pulls[combination]
    state.counters[restarting.RESTART_STEP] += 1
    combination = int(rng.random() * len(state.pulls)) if rng.random() < state.constants[CUSUM_ALPHA] else -1
    if combination < 0 or not may_show(state, combination):
        combination = restarting.largest_index(state, known, rng)
    write_levels(state.sizes, combination, shown)
    return 0


@restarting.index_of.register(CusumUCBState)
def _index_of(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return state.clicks[combination] / pulls + math.sqrt(math.log(max(1.0, float(step))) / pulls)


@restarting.alarmed.register(CusumUCBState)
def _alarmed(state: Any, combination: int, reward: int) -> int:
    own, first = state.watched[combination], state.constants[CUSUM_FIRST]
    if state.kept[combination] == 0:
        own[CUSUM_UP] = own[CUSUM_DOWN] = own[CUSUM_CLICKS] = 0.0
    state.kept[combination] += 1
    if state.kept[combination] <= first:
        own[CUSUM_CLICKS] += reward
        return restarting.FORGET_NOTHING
    above = reward - own[CUSUM_CLICKS] / first
    own[CUSUM_UP] = max(0.0, own[CUSUM_UP] + above - state.constants[CUSUM_EPS])
    own[CUSUM_DOWN] = max(0.0, own[CUSUM_DOWN] - above - state.constants[CUSUM_EPS])
    return (
        restarting.FORGET_ONE
        if max(own[CUSUM_UP], own[CUSUM_DOWN]) > state.constants[CUSUM_H]
        else restarting.FORGET_NOTHING
    )
