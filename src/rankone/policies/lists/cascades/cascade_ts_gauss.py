"""TS-Cascade: Cheung, Tan, Zhong, "A Thompson Sampling Algorithm for Cascading Bandits" (AISTATS 2019), Algorithm 2.

One number Z ~ N(0, 1) is drawn for all items of a list, so that their scores move together::

    score(i) = mean(i) + Z max{ sqrt(mean(i) (1 - mean(i)) log(t + 1) / (looks(i) + 1)),  log(t + 1) / (looks(i) + 1) }

in list t = 1, 2, ...; mean and looks start at 0. The K largest scores are shown, the largest first. When Z is negative,
well-known items are preferred: half of the lists exploit. Ties are drawn afresh.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import FIRST, Order, count_looks, draw_ties, positions_by_order, show_largest


class CascadeGaussState(NamedTuple):
    """Looks and clicks of every item."""

    pulls: Annotated[Ints, "L"]
    clicks: Annotated[Ints, "L"]
    scores: Annotated[Floats, "2, L"]  # scratch space: scores and ties
    top: Annotated[Ints, "K"]  # scratch space
    counters: Annotated[Ints, "1"]  # lists so far
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class CascadeTSGauss(ListPolicy):
    """Thompson sampling with one Gaussian number for all items of a cascade, as it was first analysed.

    Args:
        order: ``best-first``, or ``worst-first``: in a cascade the reward is the same, and more is learned.
    """

    name = "cascade-ts-gauss"
    use_when = "a comparison with the literature on cascades"
    order: Order = "best-first"

    def _begin(self, n_items: int, n_positions: int) -> CascadeGaussState:
        positions = positions_by_order(n_positions, self.order)
        return start_state(CascadeGaussState, L=n_items, K=n_positions, positions=positions)


@decide.register(CascadeGaussState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    state.counters[0] += 1
    level, scores = math.log(state.counters[0] + 1.0), state.scores
    normal = math.sqrt(-2.0 * math.log1p(-rng.random())) * math.cos(2.0 * math.pi * rng.random())  # Box and Muller
    for item in range(len(state.pulls)):
        looks = state.pulls[item]
        mean = state.clicks[item] / looks if looks > 0 else 0.0
        width = level / (looks + 1.0)
        scores[0, item] = mean + normal * max(math.sqrt(mean * (1.0 - mean) * width), width)
    draw_ties(scores[1], rng)
    show_largest(state, scores[0], scores[1], shown)
    return 0


@learn.register(CascadeGaussState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    count_looks(state, shown, outcome, FIRST)
