"""OSUB: Combes, Proutiere, "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms" (ICML 2014), Algorithm 1.

The leader is the pair with the best empirical mean; let l be how often it has led. The first time and every
(K + L - 1)-th time after that, it is chosen. At other times the largest KL-UCB index
``max{q : pulls * d(mean, q) <= log l + c log log l}`` on the leader and its cross is chosen. c = 3 in the theorem, c =
0 in practice (the default).

Lazy start: pairs without an outcome cannot lead; on the cross of the leader they come first. Ties are broken at random.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import chances, decide, view
from rankone.numerics.arrays import Ints
from rankone.policies.base import AtLeast0
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import add_chance, write_levels
from rankone.policies.engines.leader_chances import leader_chances, spread, spread_over_best
from rankone.policies.engines.unimodal import (
    LEADER_CROSS,
    LeaderState,
    best_on_cross,
    find_leader,
    kl_index,
    led_of,
    optimistic_view,
    pulls_of,
    score,
    start_leaders,
)


class OSUBState(LeaderState):
    """Counts, leader, and c as `constants[0]`."""


@dataclass(frozen=True)
class OSUB(CombinationPolicy):
    """KL-UCB on the cross of the leader.

    Args:
        c: weight of the log log term of the index.
    """

    c: AtLeast0 = 0.0
    name = "osub"
    use_when = "the unimodal index policy that later ones improve on; outcomes at once"

    def _begin(self, sizes: Ints, forbidden: Ints) -> OSUBState:
        return start_leaders(OSUBState, sizes, forbidden, self.c)


@score.register(OSUBState)
def _score(state: OSUBState, leader: int, combination: int, best: float, rng: Any) -> float:
    if pulls_of(state, combination) == 0:
        return math.inf
    log_led = math.log(led_of(state, leader))
    level = log_led + (state.constants[0] * math.log(log_led) if log_led > 1.0 else 0.0)
    return kl_index(state, combination, level, best)


@noalloc
def is_leaders_turn(state: OSUBState, leader: int) -> bool:
    """Tell whether the leader is chosen whatever its index."""
    return (led_of(state, leader) - 1) % (state.counters[LEADER_CROSS] + 1) == 0


@decide.register(OSUBState)
def _decide(state: OSUBState, context: Any, rng: Any, shown: Any) -> int:
    leader = find_leader(state, rng)
    chosen = leader if is_leaders_turn(state, leader) else best_on_cross(state, leader, rng)
    write_levels(state.sizes, chosen, shown)
    return 0


@spread.register(OSUBState)
def _spread(state: OSUBState, leader: int, weight: float, shown: Any, cross: Any) -> None:
    if is_leaders_turn(state, leader):
        add_chance(state.sizes, shown, cross, leader, weight)
    else:
        spread_over_best(state, leader, weight, shown, cross)


chances.register(OSUBState)(leader_chances)


view.register(OSUBState)(optimistic_view)
