"""LinTS-Cascade(lambda) of Zhong, Cheung, Tan, "Thompson Sampling Algorithms for Cascading Bandits" (JMLR 2021):
Thompson sampling in a linear cascade, with draws that widen as the theory asks.

As `cascade-lin-ts` with sigma = 1, but weights are drawn with scale * v_t * sqrt(K) times the standard deviations of
the belief, v_t = sqrt(9 d log t) / 4. scale = 1 has the paper's bound, scale = 0.01 is its practice. A reference.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.engines.regression import REG_ASKED, FeaturePolicy, RegressionState, find_mean, show_drawn


class LinTSCascadeState(RegressionState):
    """Beliefs about linear weights."""


@dataclass(frozen=True)
class LinTSCascade(FeaturePolicy):
    """Thompson sampling in a linear regression, with the widening draws of a proof.

    Args:
        scale: the paper's lambda: 1 in its theorem, 0.01 in its experiments.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "lin-ts-cascade"
    use_when = "a reference: the linear Thompson sampler with a bound"
    scale: Annotated[float, "(0, inf)"] = 0.01

    def _begin(self, n_items: int, n_positions: int) -> LinTSCascadeState:
        scale = self.scale * 0.25 * math.sqrt(9.0 * self.n_features() * n_positions)
        return self.begin(LinTSCascadeState, (n_items, n_positions), 1.0, [scale])


@decide.register(LinTSCascadeState)
def _decide(state: LinTSCascadeState, context: Any, rng: Any, shown: Any) -> int:
    find_mean(state, 0)
    scale = state.settings[0] * math.sqrt(math.log(state.counters[REG_ASKED] + 1.0))
    return show_drawn(state, context, scale, rng, shown)
