"""PBM-UCB: Lagree, Vernade, Cappe, "Multiple-Play Bandits in the Position-Based Model" (NIPS 2016), section 4.1.

With S clicks of an item, N displays and E the sum of the examinations at which it was shown, the index after t lists
is ::

    S / E + sqrt(N / E) sqrt((1 + epsilon) log t / (2 E))

and infinite before the first display. The k-th largest index goes to the k-th most examined position. Ties are drawn
afresh. Its regret is far above that of the others that know the examination: for comparison with the literature only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.list_known import check_probabilities, needed_examination
from rankone.policies.engines.lists.list_ranking import draw_ties, rank_largest, show_at
from rankone.policies.engines.lists.list_reading import places_by_weight
from rankone.specs import Numbers, is_number


class PBMUCBState(NamedTuple):
    """Displays and clicks of every item, and how much it was looked at."""

    pulls: Ints  # (L,) displays
    looks: Floats  # (L,) sum of the examinations at which the item was shown
    clicks: Ints  # (L,)
    scores: Floats  # (2, L) scratch space: indices and ties
    top: Ints  # (K,) scratch space
    counters: Ints  # (1,) lists so far
    epsilon: Floats  # (1,)
    examination: Floats  # (K,)
    places: Ints  # (K,)


@dataclass(frozen=True)
class PBMUCB(ListPolicy):
    """Optimism by Hoeffding bounds for lists whose examination is known.

    Args:
        epsilon: how much the exploration level exceeds log t.
        examination: how likely each position is looked at; a study of a `PBM` fills it in.

    >>> PBMUCB(epsilon=0.1).label
    'pbm-ucb:epsilon=0.1'
    """

    name: ClassVar[str] = "pbm-ucb"
    use_when: ClassVar[str] = "a comparison with the literature on position-based lists"
    epsilon: float = 0.01
    examination: Numbers | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_probabilities("examination", self.examination)

    def _begin(self, n_items: int, n_positions: int) -> PBMUCBState:
        exams = needed_examination(self, self.examination, n_positions)
        pulls, clicks = np.zeros((2, n_items), np.int64)
        return PBMUCBState(
            pulls, np.zeros(n_items), clicks, np.zeros((2, n_items)), np.zeros(n_positions, np.int64),
            np.zeros(1, np.int64), np.array([self.epsilon]), exams, places_by_weight(exams),
        )  # fmt: skip


def check_epsilon(epsilon: float) -> None:
    """Refuse an excess of the exploration level that is none."""
    if not is_number(epsilon) or not 0.0 <= epsilon < math.inf:
        raise InputError("epsilon as a number of at least 0", epsilon, "try epsilon=0.01")


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
    rank_largest(scores[0], scores[1], state.top)
    show_at(state.places, state.top, shown)
    return 0


@learn.register(PBMUCBState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for place in range(len(shown)):
        item = shown[place]
        state.pulls[item] += 1
        state.looks[item] += state.examination[place]
        state.clicks[item] += outcome[place]
