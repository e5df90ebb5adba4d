"""A yardstick: every decision is a list drawn uniformly at random."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.kernels.policy import FILLER, Belief, believe, decide
from rankone.numerics.arrays import Ints
from rankone.policies.base import ListPolicy, learns_nothing
from rankone.policies.engines.lists.layout import beta_belief, draw_items


class RandomListState(NamedTuple):
    """Nothing to learn: only the items, in some order."""

    items: Ints  # (L,)


@dataclass(frozen=True)
class RandomList(ListPolicy):
    """Learns nothing: what a policy has to beat, and the cleanest log to fit a click model to."""

    name = "random-list"
    use_when = "a yardstick; data for fitting that no policy has bent"

    def _begin(self, n_items: int, n_positions: int) -> RandomListState:
        return RandomListState(np.arange(n_items))


@decide.register(RandomListState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    draw_items(state.items, shown, 0, rng)
    return FILLER


learns_nothing(RandomListState)


@believe.register(RandomListState)
def _believe(state: RandomListState, rng: Any) -> Belief:
    nothing = np.zeros(len(state.items))
    return beta_belief(nothing, nothing, np.arange(len(nothing)))._replace(tag=FILLER)
