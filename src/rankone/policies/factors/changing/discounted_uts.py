"""Discounted UTS: unimodal Thompson sampling (`rankone.policies.factors.unimodal.uts`) on counts that are multiplied by
gamma at each outcome, as in discounted Thompson sampling (Raj, Kalyani, "Taming Non-stationary Bandits: A Bayesian
Approach", 2017). Ours; it needs no alarm, forgets all the time, and pays for it where nothing changes.
"""

from dataclasses import dataclass

from rankone.policies.engines.forgetting import Discount, ForgettingPolicy, UnimodalState


@dataclass(frozen=True)
class DiscountedUTS(ForgettingPolicy):
    """UTS that forgets gradually: an outcome counts gamma times as much at each later outcome.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.
    """

    gamma: Discount = 0.9997
    name = "discounted-uts"
    use_when = "a world that changes all the time, slowly"
    state_class = UnimodalState
