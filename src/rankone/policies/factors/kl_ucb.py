"""KL-UCB on the K * L pairs: Garivier, Cappe, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (2011).

After t decisions, choose the pair with the largest ``max{q : pulls * d(mean, q) <= log t + c log log t}``; a pair
without an outcome comes first. c = 3 in the theorem, c = 0 in practice (the default); log log t counts as 0 while
log t < 1. Ties go to the pair chosen longest ago, and among pairs never chosen to a random one.
"""

from dataclasses import dataclass

from rankone.numerics.arrays import Ints
from rankone.policies.base import AtLeast0
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.index_groups import IndexState, start_race
from rankone.policies.engines.index_race import goes_by_kl


class KLUCBState(IndexState):
    """Pulls and clicks of every pair; the constant is c."""


@dataclass(frozen=True)
class KLUCB(CombinationPolicy):
    """Optimism by Bernoulli KL bounds, every pair for itself.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).
    """

    name = "kl-ucb"
    use_when = "pairs that need not be rank-1, with a guarantee; outcomes at once"
    keeps_each = True
    c: AtLeast0 = 0.0

    def _begin(self, sizes: Ints, forbidden: Ints) -> KLUCBState:
        return start_race(KLUCBState, sizes, forbidden, self.c)


goes_by_kl(KLUCBState)
