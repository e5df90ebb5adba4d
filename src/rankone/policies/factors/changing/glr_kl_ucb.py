"""GLR-klUCB with global restarts: Besson, Kaufmann, Maillard, Seznec, "Efficient Change-Point Detection for Tackling
Piecewise-Stationary Bandits" (JMLR 2022), Algorithm 1.

After every eighth outcome of a pair its outcomes since the last new start are tested at geometrically spaced splits
(`rankone.numerics.change_point`), at threshold log(3 n^1.5 / delta) with delta = 1 / sqrt(breaks * T). On alarm
everything is forgotten. Otherwise the pair with the largest ``max{q : pulls * d(mean, q) <= log t}`` is chosen, t being
the decisions since the last new start; the share alpha = 0.1 sqrt(breaks * log T / T) of the decisions (a tenth of the
theory's, as the authors recommend) goes to all pairs in turn. Rates are tested, so a moving site rings as well.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.numerics.arrays import Ints
from rankone.numerics.change_point import MOST_BUCKETS, changed_rate, note_outcome
from rankone.numerics.kl import kl_upper
from rankone.policies.base import needed_horizon
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines import restarting


class GLRKLUCBState(restarting.RestartState):
    """What is watched are buckets of outcomes; constants: period of exploration, delta."""


@dataclass(frozen=True)
class GLRKLUCB(CombinationPolicy):
    """KL-UCB that forgets all when the rate of a pair has changed, every pair for itself: a reference.

    Args:
        horizon: number of decisions; a study fills it in.
        breaks: changes that are expected.
    """

    horizon: int | None = None
    breaks: int = 3
    name = "glr-kl-ucb"
    use_when = "a reference: a world with sudden changes, pairs that need not be rank-1"
    keeps_each = True

    def _begin(self, sizes: Ints, forbidden: Ints) -> GLRKLUCBState:
        horizon = needed_horizon(self, self.horizon)
        breaks = restarting.expected_changes(self.breaks, horizon)
        alpha = 0.1 * math.sqrt(breaks * math.log(max(horizon, 2)) / horizon)
        period, delta = math.prod(sizes.tolist()) / alpha, 1.0 / math.sqrt(breaks * horizon)
        return restarting.start_restarting(GLRKLUCBState, self.name, sizes, forbidden, (MOST_BUCKETS, 2), period, delta)


@restarting.index_of.register(GLRKLUCBState)
def _index_of(state: Any, combination: int, step: int) -> float:
    pulls = state.pulls[combination]
    return kl_upper(state.clicks[combination] / pulls, math.log(max(1.0, float(step))) / pulls)


@restarting.alarmed.register(GLRKLUCBState)
def _alarmed(state: Any, combination: int, reward: int) -> int:
    full = note_outcome(state.watched, state.kept, combination, reward)
    return (
        restarting.FORGET_ALL
        if full and changed_rate(state.watched, state.kept, combination, state.constants[1]) >= 0
        else restarting.FORGET_NOTHING
    )
