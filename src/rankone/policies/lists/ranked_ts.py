"""Ranked bandits: Radlinski, Kleinberg, Joachims, "Learning Diverse Rankings with Multi-Armed Bandits" (ICML 2008),
Algorithm 2, with Thompson sampling as the bandit of each position.

Each position is a bandit of its own, which learns from its own clicks alone. From the top down, every bandit draws
from Beta(clicks + 1, displays - clicks + 1) of each item at its position, and shows the item with the largest draw
among those not shown above. K times as much has to be learned as by policies that share what they learn between
positions.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy


class RankedTSState(NamedTuple):
    """Displays and clicks of every item at every position."""

    pulls: Annotated[Ints, "K, L"]
    clicks: Annotated[Ints, "K, L"]
    used: Annotated[Ints, "L"]  # the last list that shows the item
    counters: Annotated[Ints, "1"]  # lists so far


@dataclass(frozen=True)
class RankedTS(ListPolicy):
    """A Thompson sampler for each position, which learns from its own clicks alone."""

    name = "ranked-ts"
    use_when = "few items and any click model; slow to learn"

    def _begin(self, n_items: int, n_positions: int) -> RankedTSState:
        return start_state(RankedTSState, L=n_items, K=n_positions)


@decide.register(RankedTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    state.counters[0] += 1
    for position in range(len(shown)):
        largest, chosen = -1.0, 0
        for item in range(len(state.used)):
            if state.used[item] != state.counters[0]:
                draw = draw_beta(state.pulls[position, item], state.clicks[position, item], rng)
                if draw > largest:
                    largest, chosen = draw, item
        shown[position], state.used[chosen] = chosen, state.counters[0]
    return 0


@learn.register(RankedTSState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        state.pulls[position, shown[position]] += 1
        state.clicks[position, shown[position]] += outcome[position]
