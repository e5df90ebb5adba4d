"""Thompson sampling in a linear cascade: CascadeLinTS of Zong, Ni, Sung, Ke, Wen, Kveton, "Cascading Bandits for
Large-Scale Recommendation Problems" (UAI 2016), section 4.

An item with features x attracts with probability x'w. The belief about w is normal, N(0, I) at first; each list draws
weights once and shows the K items with the largest x'w, the largest first. Observed items, down to the first click, add
x x' / sigma^2 to the precision and y x / sigma^2 to the sums. The paper takes sigma = 1; the variance of a click that
comes a few percent of the time is far smaller, and with sigma = 0.25 regret is a tenth (`docs/features.md`).
"""

from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.engines.regression import FeaturePolicy, RegressionState, find_mean, show_drawn


class LinTSState(RegressionState):
    """Beliefs about linear weights."""


@dataclass(frozen=True)
class CascadeLinTS(FeaturePolicy):
    """Thompson sampling in a linear regression of clicks on features of items.

    Args:
        sigma: standard deviation of a click given its probability; 1 is the paper's, 0.5 is always enough.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "cascade-lin-ts"
    use_when = "items with features, attraction linear in them; sigma must fit the click rates"
    sigma: Annotated[float, "(0, inf)"] = 0.25

    def _begin(self, n_items: int, n_positions: int) -> LinTSState:
        return self.begin(LinTSState, (n_items, n_positions), 1.0, weight=self.sigma**-2)


@decide.register(LinTSState)
def _decide(state: LinTSState, context: Any, rng: Any, shown: Any) -> int:
    find_mean(state, 0)
    return show_drawn(state, context, 1.0, rng, shown)
