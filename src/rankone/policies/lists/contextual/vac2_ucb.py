"""VAC2-UCB of Liu, Zuo, Wang, Wang, Wierman, Chen, "Contextual Combinatorial Bandits with Probabilistically Triggered
Arms" (ICML 2023), algorithm 2: a linear regression weighted by the largest variance that a click can have.

With the belief N(m, P), an item's click rate lies between x'm - radius sqrt(x'P x) and x'm + radius sqrt(x'P x), cut at
0 and 1. V is the largest p (1 - p) in between; an observation counts 1 / V, of when the list was shown. The K largest
upper ends are shown, the largest first. The paper's radius, 2 rho, is several hundred at any horizon that can be run;
here it is 2, and V is at least `floor`, as an item whose upper end is 0 would count without bound.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from rankone.kernels.policy import decide
from rankone.policies.engines.regression import SCORE, WIDTH, FeaturePolicy, RegressionState, score_by_bounds, show_best


class VAC2State(RegressionState):
    """Beliefs about linear weights."""


@dataclass(frozen=True)
class VAC2UCB(FeaturePolicy):
    """Upper confidence bounds in a linear regression whose observations are weighted by the variance of clicks.

    Args:
        radius: how many standard deviations the bounds lie from the mean.
        floor: the least variance of a click that observations are weighted by.
        until, examination, features: see `FeaturePolicy`.
    """

    name = "vac2-ucb"
    use_when = "items with features, attraction linear in them: the least regret there; the same list for the same data"
    radius: Annotated[float, "(0, inf)"] = 2.0
    floor: Annotated[float, "(0, 0.25]"] = 0.01

    def _begin(self, n_items: int, n_positions: int) -> VAC2State:
        return self.begin(VAC2State, (n_items, n_positions), 1.0, [self.radius, self.floor], bounds=True)


@decide.register(VAC2State)
def _decide(state: VAC2State, context: Any, rng: Any, shown: Any) -> int:
    score_by_bounds(state, 0, context, state.settings[0], 1.0)
    scores = state.of_items[SCORE]
    for item in range(len(scores)):
        scores[item] = max(0.0, scores[item])
    slot = show_best(state, context, rng, shown)
    for position in range(len(shown)):
        low = -state.settings[0] * state.of_items[WIDTH, shown[position]]
        for k in range(state.mean.shape[1]):
            low += state.kept[slot, position, k] * state.mean[0, k]
        nearest = min(max(0.5, low), scores[shown[position]])  # to one half: there p (1 - p) is largest
        state.weights[slot, position] = 1.0 / max(state.settings[1], nearest * (1.0 - nearest))
    return slot
