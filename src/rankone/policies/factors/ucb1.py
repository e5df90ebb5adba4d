"""UCB1 on the K * L pairs: Auer, Cesa-Bianchi, Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem" (2002).

After t decisions, choose the pair with the largest ``mean + sqrt(2 log(t) / pulls)``; a pair without an outcome comes
first. Ties go to the pair chosen longest ago, and among pairs never chosen to a random one.
"""

import math
from dataclasses import dataclass

from rankone.numerics.arrays import Ints
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.index_groups import IndexState, start_race
from rankone.policies.engines.index_race import exploration_level, index_at, index_slope, level_needed


class UCB1State(IndexState):
    """Pulls and clicks of every pair."""


@dataclass(frozen=True)
class UCB1(CombinationPolicy):
    """Optimism by Hoeffding's inequality, every pair for itself."""

    name = "ucb1"
    use_when = "a baseline to compare with"
    keeps_each = True

    def _begin(self, sizes: Ints, forbidden: Ints) -> UCB1State:
        return start_race(UCB1State, sizes, forbidden)


@exploration_level.register(UCB1State)
def _exploration_level(state: UCB1State, asked: int) -> float:
    return 2.0 * math.log(asked) if asked > 1 else 0.0


@index_at.register(UCB1State)
def _index_at(state: UCB1State, pulls: int, clicks: int, level: float) -> float:
    return clicks / pulls + math.sqrt(level / pulls)


@index_slope.register(UCB1State)
def _index_slope(state: UCB1State, pulls: int, clicks: int, level: float, index: float) -> float:
    return 0.5 / math.sqrt(level * pulls)


@level_needed.register(UCB1State)
def _level_needed(state: UCB1State, pulls: int, clicks: int, index: float) -> float:
    distance = index - clicks / pulls
    return pulls * distance * distance if distance > 0.0 else 0.0
