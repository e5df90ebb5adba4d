"""Rank1Elim: Katariya, Kveton, Szepesvari, Vernade, Wen, "Stochastic Rank-1 Bandits" (AISTATS 2017), Algorithm 1.

Stage l ends after n_l = ceil(4 * 4^l * log n) sweeps; a row's bounds are its mean plus and minus sqrt(log n / n_l).
Sweeping, elimination and the defeat maps are those of Rank1ElimKL (`rankone.policies.engines.elimination`).
"""

import math
from dataclasses import dataclass

from rankone.numerics.arrays import Ints
from rankone.policies.base import needed_horizon
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.elimination import SWEEP_CONFIDENCE, SweepState, bounds, start_sweeps


class Rank1ElimState(SweepState):
    """Sweeps whose bounds come from Hoeffding's inequality."""


@dataclass(frozen=True)
class Rank1Elim(CombinationPolicy):
    """Eliminate levels by Hoeffding bounds, in stages (the paper's predecessor).

    Args:
        horizon: number of decisions n the stages are laid out for; a study fills it in.
    """

    name = "rank1elim"
    use_when = "a baseline to compare with: the method before rank1elim-kl"
    supports_forbidden = False
    horizon: int | None = None

    def _begin(self, sizes: Ints, forbidden: Ints) -> Rank1ElimState:
        horizon = needed_horizon(self, self.horizon)
        return start_sweeps(Rank1ElimState, sizes, horizon, 4.0, math.log(horizon))


@bounds.register(Rank1ElimState)
def _bounds(state: SweepState, level: int) -> tuple[float, float]:
    pulls, clicks = state.pulls[level], state.clicks[level]
    if pulls == 0:  # every outcome was void
        return -math.inf, math.inf
    mean, radius = clicks / pulls, math.sqrt(state.constants[SWEEP_CONFIDENCE] / pulls)
    return mean - radius, mean + radius
