"""CascadeWOFUL of Vial, Sanghavi, Shakkottai, Srikant, "Minimax Regret for Cascading Bandits" (NeurIPS 2022): a
linear regression weighted by a bound on the variance of clicks.

Two beliefs side by side. The plain one gives each item an upper bound u = min(1, x'm + radius sqrt(x'P x)). A click's
variance is at most its mean, so an observation counts 1 / max(u, 1 / K) in the weighted belief, with u as of when the
list was shown; the K largest x'm + radius sqrt(x'P x) of the weighted belief are shown. The paper's radii are not used:
radius = 2 as in `vac2-ucb`. A reference.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.engines.regression import (
    FeaturePolicy,
    RegressionState,
    deviation_of,
    find_mean,
    score_by_bounds,
    show_best,
)


class WOFULState(RegressionState):
    """A plain belief about linear weights, and a weighted one."""


@dataclass(frozen=True)
class CascadeWOFUL(FeaturePolicy):
    """Upper confidence bounds in a linear regression whose observations are weighted by a bound on their variance.

    Args:
        radius: how many standard deviations the bounds lie above the mean.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "cascade-woful"
    use_when = "a reference for vac2-ucb"
    radius: Annotated[float, "(0, inf)"] = 2.0

    def _begin(self, n_items: int, n_positions: int) -> WOFULState:
        settings = [self.radius, 1.0 / n_positions]
        return self.begin(WOFULState, (n_items, n_positions), 1.0, settings, beliefs=2, bounds=True)


@decide.register(WOFULState)
def _decide(state: WOFULState, context: Any, rng: Any, shown: Any) -> int:
    find_mean(state, 0)
    score_by_bounds(state, 1, context, state.settings[0], math.inf)
    slot = show_best(state, context, rng, shown)
    for position in range(len(shown)):
        bound = state.settings[0] * deviation_of(state, 0, context, shown[position])
        for k in range(state.mean.shape[1]):
            bound += state.kept[slot, position, k] * state.mean[0, k]
        state.weights[slot, position] = 1.0 / max(min(1.0, bound), state.settings[1])
    return slot
