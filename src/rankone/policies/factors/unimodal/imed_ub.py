"""IMED-UB: Saber, Menard, Maillard, "Forced-exploration free Strategies for Unimodal Bandits" (arXiv 2006.16569).

Let the leader be the pair with the best empirical mean m. Choose, among the leader and its cross, the smallest index
``pulls * d(mean, m) + log(pulls)``: the evidence against a pair, plus the price of having been pulled often already.
No index has to be solved for, nobody is chosen by force.

Lazy start: pairs without an outcome cannot lead; on the cross of the leader they come first. Ties are broken at random
(the paper's leader is the least pulled of the tied).
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.kernels.policy import chances
from rankone.numerics.arrays import Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.leader_chances import leader_chances
from rankone.policies.engines.unimodal import LeaderState, mean_of, pulls_of, score, start_leaders


class IMEDUBState(LeaderState):
    """Counts and leader."""


@dataclass(frozen=True)
class IMEDUB(CombinationPolicy):
    """Minimum empirical divergence on the cross of the leader; no parameters."""

    name = "imed-ub"
    use_when = "repeatable choices (no randomness but ties), up to about 32 levels a side; outcomes at once"

    def _begin(self, sizes: Ints, forbidden: Ints) -> IMEDUBState:
        return start_leaders(IMEDUBState, sizes, forbidden)


@score.register(IMEDUBState)
def _score(state: IMEDUBState, leader: int, combination: int, best: float, rng: Any) -> float:
    pulls = pulls_of(state, combination)
    if pulls == 0:
        return math.inf
    return -pulls * bernoulli_kl(mean_of(state, combination), mean_of(state, leader)) - math.log(pulls)


chances.register(IMEDUBState)(leader_chances)
