"""Thompson sampling in a logistic cascade: Chapelle, Li, "An Empirical Evaluation of Thompson Sampling" (NIPS 2011),
algorithm 3, with a full covariance and for lists.

An item with features x is clicked, when looked at, with probability 1 / (1 + exp(-x'w)); an intercept is added. The
belief about w is normal (Laplace's method, fitted again as data grow: `engines.regression`). Each list draws weights
once, with `alpha` times the standard deviations of the belief, and shows the K items with the largest x'w, the largest
first. Half the width, alpha = 0.5, had less regret than 1 in every world measured, and no heavier tail; alpha = 0 is
greedy and can stay with a bad choice for ever (`docs/features.md`).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from rankone.kernels.policy import decide
from rankone.policies.base import AtLeast0
from rankone.policies.engines.logistic import LogisticState
from rankone.policies.engines.regression import FeaturePolicy, show_drawn


class LogitTSState(LogisticState):
    """Beliefs about logistic weights."""


@dataclass(frozen=True)
class CascadeLogitTS(FeaturePolicy):
    """Thompson sampling in a logistic regression of clicks on features of items.

    Args:
        alpha: width of the draw, in standard deviations: 1 is Thompson sampling, 0 greedy.
        sd: standard deviation of a weight before anything is known; wide where features have norm 1.
        base: click rate to be expected before anything is known.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "cascade-logit-ts"
    use_when = "items with features: the default; late outcomes, any click rates"
    state: ClassVar[type[LogisticState]] = LogitTSState
    alpha: AtLeast0 = 0.5
    sd: Annotated[float, "(0, inf)"] = 10.0
    base: Annotated[float, "(0, 1)"] = 0.05

    def _begin(self, n_items: int, n_positions: int) -> LogisticState:
        d = self.n_features()
        prior = np.zeros(d + 1), np.full(d + 1, self.sd**-2)
        prior[0][d], prior[1][d] = math.log(self.base / (1.0 - self.base)), 1.0
        return self.begin(self.state, (n_items, n_positions), 0.0, [self.alpha], prior=prior, fits=True)


@decide.register(LogitTSState)
def _decide(state: LogitTSState, context: Any, rng: Any, shown: Any) -> int:
    return show_drawn(state, context, state.settings[0], rng, shown)
