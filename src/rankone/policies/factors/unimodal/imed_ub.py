"""IMED-UB and KLUCB-UB: Saber, Menard, Maillard, "Forced-exploration free Strategies for Unimodal Bandits" (arXiv
2006.16569).

Let the leader be the pair with the best empirical mean m. IMED-UB chooses, among the leader and its cross, the smallest
index ``pulls * d(mean, m) + log(pulls)``: the evidence against a pair, plus the price of having been pulled often
already; no index has to be solved for. KLUCB-UB chooses the largest index
``max{q : pulls * d(mean, q) + log(pulls) <= log(pulls of the leader)}``; a pair pulled more often than the leader has
its mean as index. Nobody is chosen by force.

Lazy start: pairs without an outcome cannot lead; on the cross of the leader they come first. Ties are broken at random
(the paper's leader is the least pulled of the tied).
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.kernels.policy import chances, view
from rankone.numerics.arrays import Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.leader_chances import leader_chances
from rankone.policies.engines.unimodal import (
    LeaderState,
    kl_index,
    mean_of,
    optimistic_view,
    pulls_of,
    score,
    start_leaders,
)

_USE_WHEN = "repeatable choices (no randomness but ties), up to about 32 levels a side; outcomes at once"


class IMEDUBState(LeaderState):
    """Counts and leader."""


class KLUCBUBState(LeaderState):
    """Counts and leader."""


@dataclass(frozen=True)
class IMEDUB(CombinationPolicy):
    """Minimum empirical divergence on the cross of the leader; no parameters."""

    name = "imed-ub"
    use_when = _USE_WHEN

    def _begin(self, sizes: Ints, forbidden: Ints) -> IMEDUBState:
        return start_leaders(IMEDUBState, sizes, forbidden)


@dataclass(frozen=True)
class KLUCBUB(CombinationPolicy):
    """Optimism on the cross of the leader, measured by the leader's own pulls; no parameters."""

    name = "klucb-ub"
    use_when = _USE_WHEN

    def _begin(self, sizes: Ints, forbidden: Ints) -> KLUCBUBState:
        return start_leaders(KLUCBUBState, sizes, forbidden)


@score.register(IMEDUBState)
def _score_imed(state: IMEDUBState, leader: int, combination: int, best: float, rng: Any) -> float:
    pulls = pulls_of(state, combination)
    if pulls == 0:
        return math.inf
    return -pulls * bernoulli_kl(mean_of(state, combination), mean_of(state, leader)) - math.log(pulls)


@score.register(KLUCBUBState)
def _score_kl_ucb(state: KLUCBUBState, leader: int, combination: int, best: float, rng: Any) -> float:
    pulls = pulls_of(state, combination)
    if pulls == 0:
        return math.inf
    return kl_index(state, combination, math.log(pulls_of(state, leader) / pulls), best)


view.register(KLUCBUBState)(optimistic_view)
chances.register(IMEDUBState)(leader_chances)
chances.register(KLUCBUBState)(leader_chances)
