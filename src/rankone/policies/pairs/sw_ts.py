"""Sliding-window Thompson sampling: Trovo, Paladino, Restelli, Gatti, "Sliding-Window Thompson Sampling for
Non-Stationary Settings" (JAIR 2020), Algorithm 1.

Every pair draws from its posterior on the latest outcomes, those of all pairs together; the largest draw is chosen.
Every pair for itself: no structure is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy, Ints
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.forgetting import ForgettingState, check_window, largest_draw, start_forgetting


class SWTSState(ForgettingState):
    """Counts of the latest outcomes."""


@dataclass(frozen=True)
class SWTS(CombinationPolicy):
    """Sliding-window Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        window: so many outcomes count.

    >>> SWTS(window=3000).label
    'sw-ts:window=3000'
    """

    window: int = 10_000
    name: ClassVar[str] = "sw-ts"
    suits: ClassVar[str] = "a reference: a changing world, pairs that need not be rank-1"

    def __post_init__(self) -> None:
        check_window(self.window)

    def begin(self, sizes: Ints, forbidden: Ints) -> SWTSState:
        """Return the state before the first decision."""
        return start_forgetting(SWTSState, self.name, sizes, forbidden, window=self.window)


@decide.register(SWTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, largest_draw(state, rng), shown)
    return 0
