"""A yardstick: every decision is a combination drawn uniformly at random."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.kernels.policy import FILLER, chance, decide
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import learns_nothing
from rankone.policies.combination_policy import CombinationPolicy, n_allowed
from rankone.policies.engines.combinations import may_show, number_of


class UniformState(NamedTuple):
    """Nothing to learn: only the sizes, and what is not shown."""

    sizes: Ints  # (D,) levels of each factor
    forbidden: Ints  # (rules, D)
    share: Floats  # (1,) the probability of each combination that may be shown


@dataclass(frozen=True)
class Uniform(CombinationPolicy):
    """Learns nothing: what a policy has to beat, and the cleanest log to fit a click model to."""

    name = "uniform"
    use_when = "a yardstick; data for fitting that no policy has bent"
    clicks_only = False

    def _begin(self, sizes: Ints, forbidden: Ints) -> UniformState:
        return UniformState(sizes, forbidden, np.array([1.0 / n_allowed(sizes, forbidden)]))


@decide.register(UniformState)
def _decide(state: UniformState, context: Any, rng: Any, shown: Any) -> int:
    drawn = False
    while not drawn:
        for factor in range(len(state.sizes)):
            shown[factor] = int(rng.random() * state.sizes[factor])
        drawn = may_show(state, number_of(state.sizes, shown))
    return FILLER


learns_nothing(UniformState)


@chance.register(UniformState)
def _chance(state: UniformState, shown: Any) -> float:
    return state.share[0] if may_show(state, number_of(state.sizes, shown)) else 0.0
