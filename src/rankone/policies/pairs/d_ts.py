"""Discounted Thompson sampling: Raj, Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach" (2017), Algorithm 1.

At each outcome the clicks and misses of every pair are multiplied by gamma, then the outcome is added. Every pair draws
from Beta(clicks + 1, misses + 1); the largest draw is chosen. Every pair for itself: no structure is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy, Ints
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.forgetting import ForgettingState, check_gamma, largest_draw, start_forgetting


class DTSState(ForgettingState):
    """Discounted counts of all combinations."""


@dataclass(frozen=True)
class DTS(CombinationPolicy):
    """Discounted Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.

    >>> DTS().label
    'd-ts'
    """

    gamma: float = 0.9997
    name: ClassVar[str] = "d-ts"
    suits: ClassVar[str] = "a reference: a changing world, pairs that need not be rank-1"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def begin(self, sizes: Ints, forbidden: Ints) -> DTSState:
        """Return the state before the first decision."""
        return start_forgetting(DTSState, self.name, sizes, forbidden, gamma=self.gamma)


@decide.register(DTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, largest_draw(state, rng), shown)
    return 0
