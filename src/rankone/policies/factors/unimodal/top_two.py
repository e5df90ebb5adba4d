"""Top-two on the leader's cross, for finding out who is best rather than for earning clicks on the way.

Best-arm identification for unimodal bandits needs only the leader and its cross (Poiani, Jourdan, Kaufmann, Degenne,
"Best-Arm Identification in Unimodal Bandits", AISTATS 2025); top-two sampling with the challenger of least evidence is
T3C's rule (Shang et al., "Fixed-confidence guarantees for Bayesian best-arm identification", AISTATS 2020), with
the penalty log N of Jourdan et al., "Top Two Algorithms Revisited" (NeurIPS 2022).

Every other time that a pair leads, it is chosen (with ``coin=True``, the live form, a coin says so). At other times the
challenger is: the pair of the cross with the smallest ``Z + log(pulls)``, where ``Z = N d(m, x) + N' d(m', x)`` is the
evidence that leader and challenger differ, x their common mean. Once that smallest value is above 3 log t, t the times
the leader has led, the leader is chosen (our rule, without a proof: nobody may have stopped it).
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.kernels.policy import chances, decide
from rankone.numerics.arrays import Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import add_chance, write_levels
from rankone.policies.engines.leader_chances import best_score, leader_chances, spread, spread_over_best
from rankone.policies.engines.unimodal import (
    LeaderState,
    best_on_cross,
    clicks_of,
    find_leader,
    led_of,
    mean_of,
    pulls_of,
    score,
    start_leaders,
)

_ENOUGH = 3.0
TOP_TWO_COIN = 0  # field of `level`


class TopTwoState(LeaderState):
    """Counts and leader, and whether a coin is tossed as `constants[TOP_TWO_COIN]`."""


@dataclass(frozen=True)
class TopTwo(CombinationPolicy):
    """Half of the decisions to the leader, half to its closest rival: decides soonest, earns less than UTS.

    Args:
        coin: whose turn it is is drawn; otherwise they take turns.

    >>> TopTwo().label, TopTwo().live().label
    ('top-two', 'top-two:coin=true')
    """

    coin: bool = False

    name = "top-two"
    use_when = "finding the winner and stopping (live: stopping); earns fewer clicks than uts meanwhile"

    def _begin(self, sizes: Ints, forbidden: Ints) -> TopTwoState:
        return start_leaders(TopTwoState, sizes, forbidden, self.coin)


@score.register(TopTwoState)
def _score(state: TopTwoState, leader: int, combination: int, best: float, rng: Any) -> float:
    n, other = pulls_of(state, leader), pulls_of(state, combination)
    if combination == leader:
        return -math.inf
    if n == 0 or other == 0:
        return math.inf
    common = (clicks_of(state, leader) + clicks_of(state, combination)) / (n + other)
    evidence = n * bernoulli_kl(mean_of(state, leader), common) + other * bernoulli_kl(
        mean_of(state, combination), common
    )
    return -evidence - math.log(other)


@decide.register(TopTwoState)
def _decide(state: TopTwoState, context: Any, rng: Any, shown: Any) -> int:
    leader = chosen = find_leader(state, rng)
    leaders_turn = rng.random() < 0.5 if state.constants[TOP_TWO_COIN] else led_of(state, leader) % 2 == 0
    if not leaders_turn:
        challenger = best_on_cross(state, leader, rng)
        if -score(state, leader, challenger, -math.inf, rng) <= _ENOUGH * math.log(led_of(state, leader)):
            chosen = challenger
    write_levels(state.sizes, chosen, shown)
    return 0


@spread.register(TopTwoState)
def _spread(state: TopTwoState, leader: int, weight: float, shown: Any, cross: Any) -> None:
    forced = 0.5 * weight if state.constants[TOP_TWO_COIN] else weight * (led_of(state, leader) % 2 == 0)
    if -best_score(state, leader)[0] > _ENOUGH * math.log(led_of(state, leader)):
        forced = weight
    add_chance(state.sizes, shown, cross, leader, forced)
    spread_over_best(state, leader, weight - forced, shown, cross)


chances.register(TopTwoState)(leader_chances)
