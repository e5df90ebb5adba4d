"""CascadeLinUCB of Zong, Ni, Sung, Ke, Wen, Kveton, "Cascading Bandits for Large-Scale Recommendation Problems" (UAI
2016), section 4: upper confidence bounds in a linear cascade.

An item's index is min(1, x'm + c sqrt(x'P x)), with the belief N(m, P) of `cascade-lin-ts`; the K largest are shown,
the largest first. Where c is not given it is that of the paper's theorem,
``c = sqrt(d log(1 + n K / (d sigma^2)) + 2 log(n K)) / sigma + 1``, which needs the horizon n. It explores some ten
times more than clicks need (`docs/features.md`).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.base import needed_horizon
from rankone.policies.engines.regression import FeaturePolicy, RegressionState, score_by_bounds, show_best


class LinUCBState(RegressionState):
    """Beliefs about linear weights."""


@dataclass(frozen=True)
class CascadeLinUCB(FeaturePolicy):
    """Upper confidence bounds in a linear regression of clicks on features of items.

    Args:
        sigma: standard deviation of a click given its probability; the paper's is 1.
        c: how many standard deviations the bound lies above the mean; None: the paper's, for the horizon.
        horizon: number of lists, for c; a study fills it in.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "cascade-lin-ucb"
    use_when = "a reference: items with features, with a bound on regret; explores far too much at click rates"
    sigma: Annotated[float, "(0, inf)"] = 1.0
    c: Annotated[float | None, "[0, inf)"] = None
    horizon: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, n_items: int, n_positions: int) -> LinUCBState:
        d, c, weight = self.n_features(), self.c, self.sigma**-2
        if c is None:
            seen = needed_horizon(self, self.horizon) * n_positions
            c = math.sqrt(d * math.log(1.0 + seen * weight / d) + 2.0 * math.log(seen)) / self.sigma + 1.0
        return self.begin(LinUCBState, (n_items, n_positions), 1.0, [c], weight=weight, bounds=True)


@decide.register(LinUCBState)
def _decide(state: LinUCBState, context: Any, rng: Any, shown: Any) -> int:
    score_by_bounds(state, 0, context, state.settings[0], 1.0)
    return show_best(state, context, rng, shown)
