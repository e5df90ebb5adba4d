"""Sliding-window Thompson sampling: Trovo, Paladino, Restelli, Gatti, "Sliding-Window Thompson Sampling for
Non-Stationary Settings" (JAIR 2020), Algorithm 1.

Every pair draws from its posterior on the latest outcomes, those of all pairs together; the largest draw is chosen.
Every pair for itself: no structure is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankone.policies.engines.forgetting import DrawingState, ForgettingPolicy


@dataclass(frozen=True)
class SWTS(ForgettingPolicy):
    """Sliding-window Thompson sampling, every pair for itself: a reference for worlds that change.

    Args:
        window: so many outcomes count.

    >>> SWTS(window=3000).label
    'sw-ts:window=3000'
    """

    window: int = 10_000
    name: ClassVar[str] = "sw-ts"
    use_when: ClassVar[str] = "a reference: a changing world, pairs that need not be rank-1"
    state_class: ClassVar = DrawingState
