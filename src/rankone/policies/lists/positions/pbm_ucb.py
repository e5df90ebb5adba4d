"""PBM-UCB: Lagree, Vernade, Cappe, "Multiple-Play Bandits in the Position-Based Model" (NIPS 2016), section 4.1.

With S clicks of an item, N displays and E the sum of the examinations at which it was shown, the index after t lists
is ::

    S / E + sqrt(N / E) sqrt((1 + epsilon) log t / (2 E))

and infinite before the first display. The k-th largest index goes to the k-th most examined position. Ties are drawn
afresh. Its regret is far above that of the others that know the examination: for comparison with the literature only.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.states import start_state
from rankone.policies.base import AtLeast0, ListPolicy
from rankone.policies.engines.lists.layout import (
    OfPositions,
    draw_ties,
    needed_examination,
    positions_by_weight,
    show_largest,
)


class PBMUCBState(NamedTuple):
    """Displays and clicks of every item, and how much it was looked at."""

    pulls: Annotated[Ints, "L"]  # displays
    looks: Annotated[Floats, "L"]  # sum of the examinations at which the item was shown
    clicks: Annotated[Ints, "L"]
    scores: Annotated[Floats, "2, L"]  # scratch space: indices and ties
    top: Annotated[Ints, "K"]  # scratch space
    counters: Annotated[Ints, "1"]  # lists so far
    epsilon: Annotated[Floats, "1"]
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class PBMUCB(ListPolicy):
    """Optimism by Hoeffding bounds for lists whose examination is known.

    Args:
        epsilon: how much the exploration level exceeds log t.
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "pbm-ucb"
    use_when = "a comparison with the literature on position-based lists"
    epsilon: AtLeast0 = 0.01
    examination: OfPositions = None

    def _begin(self, n_items: int, n_positions: int) -> PBMUCBState:
        exams = needed_examination(self, self.examination, n_positions)
        fixed = {"epsilon": self.epsilon, "examination": exams, "positions": positions_by_weight(exams)}
        return start_state(PBMUCBState, L=n_items, K=n_positions, **fixed)


@decide.register(PBMUCBState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    state.counters[0] += 1
    level, scores = (1.0 + state.epsilon[0]) * math.log(state.counters[0]), state.scores
    for item in range(len(state.pulls)):
        looks = state.looks[item]
        scores[0, item] = math.inf
        if looks > 0.0:
            width = math.sqrt(state.pulls[item] * level / (2.0 * looks * looks))
            scores[0, item] = state.clicks[item] / looks + width
    draw_ties(scores[1], rng)
    show_largest(state, scores[0], scores[1], shown)
    return 0


@learn.register(PBMUCBState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item = shown[position]
        state.pulls[item] += 1
        state.looks[item] += state.examination[position]
        state.clicks[item] += outcome[position]
