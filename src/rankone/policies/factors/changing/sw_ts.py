"""Sliding-window Thompson sampling: Trovo, Paladino, Restelli, Gatti, "Sliding-Window Thompson Sampling for
Non-Stationary Settings" (JAIR 2020), Algorithm 1.

Every pair draws from its posterior on the latest outcomes, those of all pairs together; the largest draw is chosen.
Every pair for itself: no structure is used.
"""

from dataclasses import dataclass

from rankone.policies.engines.forgetting import DrawingState, ForgettingPolicy, Window


@dataclass(frozen=True)
class SWTS(ForgettingPolicy):
    """Sliding-window Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        window: so many outcomes count.
    """

    window: Window = 10_000
    name = "sw-ts"
    use_when = "a reference: a changing world, pairs that need not be rank-1"
    state_class = DrawingState
