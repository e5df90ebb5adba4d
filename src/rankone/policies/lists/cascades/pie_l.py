"""PIE(l): Combes, Magureanu, Proutiere, Laroche, "Learning to Rank: Regret Lower Bounds and Efficient Algorithms"
(SIGMETRICS 2015), section 5.

The K items with the best means are the leaders, the best first. An item outside is a candidate if it could be as good
as the last leader: ``looks * d(mean, mean of the last leader) <= log t + 4 log log t``, or nobody has looked at it.
If there are candidates, then in half of the lists one of them, drawn uniformly, steps in at position l; who stood
there and below moves down, and the last leader is left out. Where any click counts the same, l = 1 is right: there a
candidate is always looked at, and it costs no more than elsewhere. A list counts as looked at down to the first
click. The mean of an item that nobody has looked at is 0. Ties are drawn afresh.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import FIRST, count_looks, draw_ties, rank_largest
from rankone.specs import whole_number

_LOG_LOG = 4.0


class PIEState(NamedTuple):
    """Looks and clicks of every item."""

    pulls: Annotated[Ints, "L"]
    clicks: Annotated[Ints, "L"]
    scores: Annotated[Floats, "2, L"]  # scratch space: means and ties
    top: Annotated[Ints, "K"]  # scratch space: the leaders
    candidates: Annotated[Ints, "L"]  # scratch space
    counters: Annotated[Ints, "2"]  # lists so far; the position at which candidates step in, from 0


@dataclass(frozen=True)
class PIEL(ListPolicy):
    """The best items so far, and in half of the lists one that could be as good, at a fixed position.

    Args:
        position: where candidates step in, counted from 1.
    """

    name = "pie-l"
    use_when = "cascades, with a guarantee; one item explored at a time"
    position: Annotated[int, "[1, inf)"] = 1

    def _begin(self, n_items: int, n_positions: int) -> PIEState:
        whole_number("position of pie-l", self.position, most=n_positions, example=1)
        return start_state(PIEState, L=n_items, K=n_positions, counters=[0, self.position - 1])


@decide.register(PIEState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    pulls, means, ties, top = state.pulls, state.scores[0], state.scores[1], state.top
    state.counters[0] += 1
    for item in range(len(pulls)):
        means[item] = state.clicks[item] / pulls[item] if pulls[item] > 0 else 0.0
    draw_ties(ties, rng)
    rank_largest(means, ties, top)
    for position in range(len(shown)):
        shown[position] = top[position]
        ties[top[position]] = -1.0  # from here on: a leader
    level, last, count = math.log(state.counters[0]), means[top[len(top) - 1]], 0
    level += _LOG_LOG * math.log(level) if level > 1.0 else 0.0
    for item in range(len(pulls)):
        if ties[item] >= 0.0 and (pulls[item] == 0 or pulls[item] * bernoulli_kl(means[item], last) <= level):
            state.candidates[count] = item
            count += 1
    if count > 0 and rng.random() < 0.5:
        position = len(shown) - 1
        while position > state.counters[1]:
            shown[position] = shown[position - 1]
            position -= 1
        shown[position] = state.candidates[int(rng.random() * count)]
    return 0


@learn.register(PIEState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    count_looks(state, shown, outcome, FIRST)
