"""Upper confidence bounds in a logistic cascade: the belief of `cascade-logit-ts`, the index
``x'm + alpha sqrt(2 log(t + 1) x'P x)`` in list t (in the spirit of Filippi, Cappe, Garivier, Szepesvari, "Parametric
Bandits: The Generalized Linear Case", NIPS 2010, with the belief's own width). The K largest are shown, the largest
first. The same list for the same data, so it does not spread its choices while outcomes are late.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.kernels.policy import decide
from rankone.policies.engines.logistic import LogisticState
from rankone.policies.engines.regression import REG_ASKED, SCORE, WIDTH, find_widths, score_items, show_best
from rankone.policies.lists.contextual.cascade_logit_ts import LogisticPolicy


class LogitUCBState(LogisticState):
    """Beliefs about logistic weights."""


@dataclass(frozen=True)
class CascadeLogitUCB(LogisticPolicy):
    """Upper confidence bounds in a logistic regression of clicks on features of items.

    Args:
        alpha: width of the bound, in standard deviations times sqrt(2 log t).
        sd: standard deviation of a weight before anything is known; wide where features have norm 1.
        base: click rate to be expected before anything is known.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
        examination: how often each position is looked at, if that is known: all of the list then counts.
        features: how many features an item has; a study fills it in.

    >>> CascadeLogitUCB(alpha=1.0).label
    'cascade-logit-ucb:alpha=1'
    """

    name = "cascade-logit-ucb"
    use_when = "items with features, outcomes at once: the same list for the same data"

    def _begin(self, n_items: int, n_positions: int) -> LogitUCBState:
        return self._state(LogitUCBState, n_items, n_positions)


@decide.register(LogitUCBState)
def _decide(state: LogitUCBState, context: Any, rng: Any, shown: Any) -> int:
    score_items(state, context, state.mean[0])
    find_widths(state, 0, context)
    scores, widths = state.of_items[SCORE], state.of_items[WIDTH]
    radius = state.settings[0] * math.sqrt(2.0 * math.log(state.counters[REG_ASKED] + 1.0))
    for item in range(len(scores)):
        scores[item] += radius * widths[item]
    return show_best(state, context, rng, shown)
