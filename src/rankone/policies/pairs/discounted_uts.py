"""Discounted UTS: unimodal Thompson sampling (`rankone.policies.pairs.uts`) on counts that are multiplied by gamma at
each outcome, as in discounted Thompson sampling (Raj, Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach",
2017). Ours; it needs no alarm, forgets all the time, and pays for it where nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy, Ints
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.forgetting import ForgettingState, check_gamma, start_forgetting, unimodal_step

_FORCED = 2  # every so many times that it leads, the leader is shown without a draw: UTS's gamma


class DiscountedUTSState(ForgettingState):
    """Discounted counts of all combinations."""


@dataclass(frozen=True)
class DiscountedUTS(CombinationPolicy):
    """UTS that forgets gradually: an outcome counts gamma times as much at each later outcome.

    Args:
        gamma: the discount; about 1 / (1 - gamma) outcomes count.

    >>> DiscountedUTS(gamma=0.999).label
    'discounted-uts:gamma=0.999'
    """

    gamma: float = 0.9997
    name: ClassVar[str] = "discounted-uts"
    suits: ClassVar[str] = "a world that changes all the time, slowly"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def begin(self, sizes: Ints, forbidden: Ints) -> DiscountedUTSState:
        """Return the state before the first decision."""
        return start_forgetting(DiscountedUTSState, self.name, sizes, forbidden, gamma=self.gamma)


@decide.register(DiscountedUTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, unimodal_step(state, _FORCED, rng), shown)
    return 0
