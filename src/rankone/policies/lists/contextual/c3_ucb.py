"""C3-UCB of Li, Wang, Zhang, Chen, "Contextual Combinatorial Cascading Bandits" (ICML 2016), algorithm 1, disjunctive.

The paper's position discounts are known, g_k = discount^(k - 1). V begins as ridge * I; observed items add g_k^2 x x'
to it and g_k^2 y x to the sums. The index of an item is min(1, x'm + beta sqrt(x' V^-1 x)) with
``beta = R sqrt(log(det V / (ridge^d delta^2))) + sqrt(ridge)``, delta = 1 / sqrt(n); the K largest are shown, the
largest first. Features may change from list to list. The paper's constants are R = 1 and ridge = sum of g_k^2.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.base import needed_horizon
from rankone.policies.engines.regression import FeaturePolicy, RegressionState, score_by_bounds, show_best

_NOISE, _RIDGE, _CONFIDENCE, _DISCOUNT = range(4)


class C3State(RegressionState):
    """Beliefs about linear weights."""


@dataclass(frozen=True)
class C3UCB(FeaturePolicy):
    """Upper confidence bounds for cascades of items with features, with the anytime radius of a proof.

    Args:
        noise: the paper's R; 0.5 is enough for clicks.
        ridge: precision of each weight before anything is known; None: the paper's, the sum of squared discounts.
        discount: what a click is worth at a position, as a share of the position above.
        horizon: number of lists, for the confidence; a study fills it in.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "c3-ucb"
    use_when = "a reference: items whose features change from list to list, with a bound on regret"
    noise: Annotated[float, "(0, inf)"] = 1.0
    ridge: Annotated[float | None, "(0, inf)"] = None
    discount: Annotated[float, "(0, 1]"] = 1.0
    horizon: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, n_items: int, n_positions: int) -> C3State:
        horizon = needed_horizon(self, self.horizon)
        ridge = sum(self.discount ** (2 * k) for k in range(n_positions)) if self.ridge is None else self.ridge
        settings = [self.noise, ridge, math.log(horizon), self.discount]  # log(1 / delta^2) = log(n)
        return self.begin(C3State, (n_items, n_positions), ridge, settings, bounds=True)


@decide.register(C3State)
def _decide(state: C3State, context: Any, rng: Any, shown: Any) -> int:
    settings, d = state.settings, state.mean.shape[1]
    logs = settings[_CONFIDENCE] - d * math.log(settings[_RIDGE])
    for k in range(d):
        logs += 2.0 * math.log(state.root[0, k, k])
    radius = settings[_NOISE] * math.sqrt(max(0.0, logs)) + math.sqrt(settings[_RIDGE])
    score_by_bounds(state, 0, context, radius, 1.0)
    slot, weight = show_best(state, context, rng, shown), 1.0
    for position in range(len(shown)):
        state.weights[slot, position] = weight
        weight *= settings[_DISCOUNT] * settings[_DISCOUNT]
    return slot
