"""KLUCB-UB: Saber, Menard, Maillard, "Forced-exploration free Strategies for Unimodal Bandits" (arXiv 2006.16569).

Let the leader be the pair with the best empirical mean. Choose, among the leader and its cross, the largest index
``max{q : pulls * d(mean, q) + log(pulls) <= log(pulls of the leader)}``; a pair pulled more often than the leader has
its mean as index. Nobody is chosen by force.

Lazy start: pairs without an outcome cannot lead; on the cross of the leader they come first. Ties are broken at random
(the paper's leader is the least pulled of the tied).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import choose
from rankone.policies.leaders import (
    LeaderState,
    as_decision,
    best_on_cross,
    find_leader,
    mean_of,
    score,
    start_leaders,
)


class KLUCBUBState(LeaderState):
    """Counts and leader."""


@dataclass(frozen=True)
class KLUCBUB(Policy):
    """Optimism on the cross of the leader, measured by the leader's own pulls; no parameters.

    >>> KLUCBUB().label
    'klucb-ub'
    """

    name: ClassVar[str] = "klucb-ub"
    suits: ClassVar[str] = "repeatable choices (no randomness but ties), up to about 32 lines a side; outcomes at once"

    def start(self, n_rows: int, n_cols: int) -> KLUCBUBState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        state: KLUCBUBState = start_leaders(KLUCBUBState, n_rows, n_cols)
        return state


@score.register(KLUCBUBState)
def _score(state: KLUCBUBState, leader: int, pair: int, best: float, rng: Any) -> float:
    pulls = state.pulls[pair]
    if pulls == 0:
        return math.inf
    mean, level = mean_of(state, pair), math.log(state.pulls[leader] / pulls)
    if best > mean and pulls * bernoulli_kl(mean, best) > 1.000001 * level + 1e-12:
        return mean  # the index is below `best`: no need to solve for it
    return kl_upper(mean, level / pulls)


@choose.register(KLUCBUBState)
def _choose(state: KLUCBUBState, rng: Any) -> tuple[int, int, int]:
    return as_decision(state, best_on_cross(state, find_leader(state, rng), rng))
