"""CascadeWOFUL of Vial, Sanghavi, Shakkottai, Srikant, "Minimax Regret for Cascading Bandits" (NeurIPS 2022): a
linear regression weighted by a bound on the variance of clicks.

Two beliefs side by side. The plain one gives each item an upper bound u = min(1, x'm + radius sqrt(x'P x)). A click's
variance is at most its mean, so an observation counts 1 / max(u, 1 / K) in the weighted belief, with u as of when the
list was shown; the K largest x'm + radius sqrt(x'P x) of the weighted belief are shown. The paper's radii are not used:
radius = 2 as in `vac2-ucb`. A reference.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.kernels.policy import decide
from rankone.policies.engines.lists.layout import Until
from rankone.policies.engines.regression import (
    SCORE,
    WEIGHT,
    WIDTH,
    FeaturePolicy,
    RegressionState,
    find_mean,
    find_widths,
    score_items,
    show_best,
    start_regression,
)


class WOFULState(RegressionState):
    """A plain belief about linear weights, and a weighted one."""


@dataclass(frozen=True)
class CascadeWOFUL(FeaturePolicy):
    """Upper confidence bounds in a linear regression whose observations are weighted by a bound on their variance.

    Args:
        radius: how many standard deviations the bounds lie above the mean.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
        features: how many features an item has; a study fills it in.

    >>> CascadeWOFUL().label
    'cascade-woful'
    """

    name = "cascade-woful"
    use_when = "a reference for vac2-ucb"
    radius: Annotated[float, "(0, inf)"] = 2.0
    until: Until = "first"
    features: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, n_items: int, n_positions: int) -> WOFULState:
        prior = np.zeros(self.n_features()), np.ones(self.n_features())
        settings = [self.radius, 1.0 / n_positions]
        return start_regression(WOFULState, n_items, n_positions, *prior, settings, until=self.until, beliefs=2)


@decide.register(WOFULState)
def _decide(state: WOFULState, context: Any, rng: Any, shown: Any) -> int:
    scores, widths, radius = state.of_items[SCORE], state.of_items[WIDTH], state.settings[0]
    for belief in range(2):
        find_mean(state, belief)
        score_items(state, context, state.mean[belief])
        find_widths(state, belief, context)
        for item in range(len(scores)):
            scores[item] = scores[item] + radius * widths[item]
            if belief == 0:
                state.of_items[WEIGHT, item] = 1.0 / max(min(1.0, scores[item]), state.settings[1])
    return show_best(state, context, rng, shown)
