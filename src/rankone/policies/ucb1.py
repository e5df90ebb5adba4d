"""UCB1 on the K * L pairs: Auer, Cesa-Bianchi, Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem" (2002).

After t decisions, choose the pair with the largest ``mean + sqrt(2 log(t) / pulls)``; a pair without an outcome comes
first. Ties go to the pair chosen longest ago, and among pairs never chosen to a random one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses
from rankone.policies.pairs import ASKED, PairState, remember_choice, shuffle_first_choices, start_pairs


class UCB1State(PairState):
    """Pulls and clicks of every pair."""


@dataclass(frozen=True)
class UCB1(Policy):
    """Optimism by Hoeffding's inequality, every pair an arm of its own.

    >>> UCB1().label
    'ucb1'
    """

    name: ClassVar[str] = "ucb1"
    suits: ClassVar[str] = "a baseline to compare with"

    def start(self, n_rows: int, n_cols: int) -> UCB1State:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        state: UCB1State = start_pairs(UCB1State, n_rows, n_cols)
        return state


@chooses.register(UCB1State)
def _choose(state: PairState, rng: Any) -> tuple[int, int, int]:
    pulls, clicks, chosen = state.pulls, state.clicks, state.chosen
    if state.clock[ASKED] == 0:
        shuffle_first_choices(state, rng)
    bonus = 2.0 * math.log(state.clock[ASKED] + (state.clock[ASKED] == 0))
    best, best_index = 0, -1.0
    for pair in range(len(pulls)):
        index = math.inf
        if pulls[pair] > 0:
            index = clicks[pair] / pulls[pair] + math.sqrt(bonus / pulls[pair])
        if index > best_index or (index == best_index and chosen[pair] < chosen[best]):
            best, best_index = pair, index
    return remember_choice(state, best)
