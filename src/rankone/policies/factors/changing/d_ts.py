"""Discounted Thompson sampling: Raj, Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach" (2017), Algorithm 1.

At each outcome the clicks and misses of every pair are multiplied by gamma, then the outcome is added. Every pair draws
from Beta(clicks + 1, misses + 1); the largest draw is chosen. Every pair for itself: no structure is used.
"""

from dataclasses import dataclass

from rankone.policies.engines.forgetting import Discount, DrawingState, ForgettingPolicy


@dataclass(frozen=True)
class DTS(ForgettingPolicy):
    """Discounted Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.
    """

    gamma: Discount = 0.9997
    name = "d-ts"
    use_when = "a reference: a changing world, pairs that need not be rank-1"
    state_class = DrawingState
