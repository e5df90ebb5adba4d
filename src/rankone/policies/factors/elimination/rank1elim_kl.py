"""Rank1ElimKL: Katariya, Kveton, Szepesvari, Vernade, Wen, "Bernoulli Rank-1 Bandits for Click Feedback", Algorithm 1.

Stage l ends after n_l = ceil(16 * 4^l * log n) sweeps. A row's bounds are the extreme q with
``n_l d(mean, q) <= log n + c log log n`` (lines 24-31), c = 3 as printed. The paper's own figures need c = 0.
Sweeping, elimination and the defeat maps (lines 6-48) are in `rankone.policies.engines.elimination`.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.numerics.arrays import Ints
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.policies.base import AtLeast0, needed_horizon
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.elimination import SWEEP_CONFIDENCE, SweepState, bounds, start_sweeps


class Rank1ElimKLState(SweepState):
    """Sweeps whose bounds are KL bounds."""


@dataclass(frozen=True)
class Rank1ElimKL(CombinationPolicy):
    """Eliminate levels by KL confidence bounds, in stages (the paper's algorithm).

    Args:
        horizon: number of decisions n the stages are laid out for; a study fills it in.
        c: coefficient of log log n in the confidence (3 as printed, 0 for the paper's figures).

    >>> agent = Rank1ElimKL(horizon=1_000).agent(n_rows=3, n_cols=2)
    >>> decision = agent.ask()
    >>> agent.tell(decision, clicked=True)
    """

    name = "rank1elim-kl"
    use_when = "a handful of synchronisation points, a finite-time guarantee; horizon known"
    supports_forbidden = False
    horizon: int | None = None
    c: AtLeast0 = 3.0

    def _begin(self, sizes: Ints, forbidden: Ints) -> Rank1ElimKLState:
        horizon = needed_horizon(self, self.horizon)
        confidence = math.log(horizon) + self.c * math.log(max(1.0, math.log(horizon)))
        return start_sweeps(Rank1ElimKLState, sizes, horizon, 16.0, confidence)


@bounds.register(Rank1ElimKLState)
def _bounds(state: Any, level: int) -> tuple[float, float]:
    pulls, clicks = state.pulls[level], state.clicks[level]
    if pulls == 0:  # every outcome was void
        return 0.0, 1.0
    radius = state.constants[SWEEP_CONFIDENCE] / pulls
    return kl_lower(clicks / pulls, radius), kl_upper(clicks / pulls, radius)
