"""Sliding-window UTS: unimodal Thompson sampling (`rankone.policies.pairs.uts`) on the latest outcomes alone, as
sliding-window OSUB for unimodal bandits that drift (Combes, Proutiere, "Unimodal Bandits", ICML 2014, section 5). Ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy, Ints
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.forgetting import ForgettingState, check_window, start_forgetting, unimodal_step

_FORCED = 2  # every so many times that it leads, the leader is shown without a draw: UTS's gamma


class SlidingUTSState(ForgettingState):
    """Counts of the latest outcomes."""


@dataclass(frozen=True)
class SlidingUTS(CombinationPolicy):
    """UTS that goes by the latest outcomes and by no others.

    Args:
        window: so many outcomes count.

    >>> SlidingUTS(window=3000).label
    'sliding-uts:window=3000'
    """

    window: int = 10_000
    name: ClassVar[str] = "sliding-uts"
    suits: ClassVar[str] = "a world that changes all the time, slowly"

    def __post_init__(self) -> None:
        check_window(self.window)

    def begin(self, sizes: Ints, forbidden: Ints) -> SlidingUTSState:
        """Return the state before the first decision."""
        return start_forgetting(SlidingUTSState, self.name, sizes, forbidden, window=self.window)


@decide.register(SlidingUTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, unimodal_step(state, _FORCED, rng), shown)
    return 0
