"""Sliding-window UTS: unimodal Thompson sampling (`rankone.policies.factors.unimodal.uts`) on the latest outcomes
alone, as sliding-window OSUB for unimodal bandits that drift (Combes, Proutiere, "Unimodal Bandits", ICML 2014, section
5). Ours.
"""

from dataclasses import dataclass

from rankone.policies.engines.forgetting import ForgettingPolicy, UnimodalState, Window


@dataclass(frozen=True)
class SlidingUTS(ForgettingPolicy):
    """UTS that goes by the latest outcomes and by no others.

    Args:
        window: so many outcomes count.
    """

    window: Window = 10_000
    name = "sliding-uts"
    use_when = "a world that changes all the time, slowly"
    state_class = UnimodalState
