"""A yardstick: epsilon-greedy (Sutton, Barto, "Reinforcement learning", 2nd edition, section 2.2) on lists.

The K items with the best click rates so far, the best first; with probability epsilon a list drawn at random. An item
that nobody has looked at counts as always clicked. Ties are drawn afresh.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import UNTIL, Until, count_looks, draw_items, draw_ties, rank_largest


class GreedyListState(NamedTuple):
    """Looks and clicks of every item."""

    pulls: Annotated[Ints, "L"]
    clicks: Annotated[Ints, "L"]
    items: Annotated[Ints, "L"]  # in some order
    scores: Annotated[Floats, "2, L"]  # scratch space: click rates and ties
    until: Annotated[Ints, "1"]
    epsilon: Annotated[Floats, "1"]


@dataclass(frozen=True)
class EpsilonGreedyList(ListPolicy):
    """The items with the best click rates so far; now and then a random list.

    Args:
        epsilon: share of random lists.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
    """

    name = "epsilon-greedy-list"
    use_when = "a yardstick: exploring at random"
    epsilon: Annotated[float, "[0, 1]"] = 0.05
    until: Until = "all"

    def _begin(self, n_items: int, n_positions: int) -> GreedyListState:
        items, until = np.arange(n_items), UNTIL[self.until]
        return start_state(GreedyListState, L=n_items, items=items, until=until, epsilon=self.epsilon)


@decide.register(GreedyListState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    if rng.random() < state.epsilon[0]:
        draw_items(state.items, shown, 0, rng)
        return 0
    for item in range(len(state.pulls)):
        state.scores[0, item] = state.clicks[item] / state.pulls[item] if state.pulls[item] > 0 else 1.0
    draw_ties(state.scores[1], rng)
    rank_largest(state.scores[0], state.scores[1], shown)
    return 0


@learn.register(GreedyListState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    count_looks(state, shown, outcome, state.until[0])
