"""Upper confidence bounds in a logistic cascade: the belief of `cascade-logit-ts`, and in list t the index
``x'm + alpha sqrt(2 log(t + 1) x'P x)``, after Filippi, Cappe, Garivier, Szepesvari, "Parametric Bandits: The
Generalized Linear Case" (NIPS 2010), with the belief's own width. The K largest are shown, the largest first.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.kernels.policy import decide
from rankone.policies.engines.logistic import LogisticState
from rankone.policies.engines.regression import REG_ASKED, SCORE, WIDTH, find_widths, score_items, show_best
from rankone.policies.lists.contextual.cascade_logit_ts import CascadeLogitTS


class LogitUCBState(LogisticState):
    """Beliefs about logistic weights."""


@dataclass(frozen=True)
class CascadeLogitUCB(CascadeLogitTS):
    """Upper confidence bounds in a logistic regression of clicks on features of items.

    Args:
        alpha: width of the bound, in standard deviations times sqrt(2 log t).
        sd, base, until, examination, features: see `CascadeLogitTS`.
    """

    name = "cascade-logit-ucb"
    use_when = "items with features, outcomes at once: the same list for the same data"
    state = LogitUCBState


@decide.register(LogitUCBState)
def _decide(state: LogitUCBState, context: Any, rng: Any, shown: Any) -> int:
    score_items(state, context, state.mean[0])
    find_widths(state, 0, context)
    scores, widths = state.of_items[SCORE], state.of_items[WIDTH]
    radius = state.settings[0] * math.sqrt(2.0 * math.log(state.counters[REG_ASKED] + 1.0))
    for item in range(len(scores)):
        scores[item] += radius * widths[item]
    return show_best(state, context, rng, shown)
