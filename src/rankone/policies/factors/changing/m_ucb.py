"""M-UCB: Cao, Wen, Kveton, Xie, "Nearly Optimal Adaptive Procedure with Change Detection for Piecewise-Stationary
Bandit" (AISTATS 2019), Algorithms 1 and 2.

Of each pair the last w outcomes are kept. When the sums of their two halves differ by more than
b = sqrt(w / 2 * log(2 K T^2)), K being the number of pairs, everything is forgotten. Otherwise UCB1 chooses; the share
gamma = sqrt(breaks * K * (2 b + 3 sqrt(w)) / (2 T)) of the decisions goes to all pairs in turn.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.numerics.arrays import Ints
from rankone.policies.base import needed_horizon
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines import restarting
from rankone.specs import whole_number


class MUCBState(restarting.RestartState):
    """What is watched are the last outcomes, in a ring; constants: period of exploration, b."""


@dataclass(frozen=True)
class MUCB(CombinationPolicy):
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
    keeps_each = True

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("an even window", self.window, most=self.window // 2 * 2)

    def _begin(self, sizes: Ints, forbidden: Ints) -> MUCBState:
        horizon = needed_horizon(self, self.horizon)
        breaks, pairs = restarting.expected_changes(self.breaks, horizon), math.prod(sizes.tolist())
        bound = math.sqrt(self.window / 2.0 * math.log(2.0 * pairs * horizon * horizon))
        gamma = math.sqrt(breaks * pairs * (2.0 * bound + 3.0 * math.sqrt(self.window)) / (2.0 * horizon))
        period = math.ceil(pairs / min(gamma, 1.0))
        return restarting.start_restarting(MUCBState, self.name, sizes, forbidden, (self.window,), period, bound)


@restarting.index_of.register(MUCBState)
def _index_of(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return state.clicks[combination] / pulls + math.sqrt(2.0 * math.log(max(1.0, float(step))) / pulls)


@restarting.alarmed.register(MUCBState)
def _alarmed(state: Any, combination: int, reward: int) -> int:
    ring = state.watched[combination]
    window = len(ring)
    ring[state.kept[combination] % window] = reward
    state.kept[combination] += 1
    if state.kept[combination] < window:
        return restarting.FORGET_NOTHING
    oldest, difference = state.kept[combination] % window, 0.0
    for index in range(window):
        value = ring[(oldest + index) % window]
        difference += value if index >= window // 2 else -value
    return restarting.FORGET_ALL if abs(difference) > state.constants[1] else restarting.FORGET_NOTHING
