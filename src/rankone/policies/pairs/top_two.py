"""Top-two on the leader's cross, for finding out who is best rather than for earning clicks on the way.

Best-arm identification for unimodal bandits needs only the leader and its cross (Poiani, Jourdan, Kaufmann, Degenne,
"Best-Arm Identification in Unimodal Bandits", AISTATS 2025); top-two sampling with the challenger of least evidence is
T3C's rule (Shang et al., "Fixed-confidence guarantees for Bayesian best-arm identification", AISTATS 2020), with
the penalty log N of Jourdan et al., "Top Two Algorithms Revisited" (NeurIPS 2022).

Every other time that a pair leads, it is chosen. At other times the challenger is: the pair of the cross with the
smallest ``Z + log(pulls)``, where ``Z = N d(m, x) + N' d(m', x)`` is the evidence that leader and challenger differ, x
their common mean. A live experiment that is to stop by itself (`auto_stop`) decides soonest with this policy. Where
nobody stops it, it must not waste half of the decisions for ever: once that smallest value is above 3 log t, t the
times the leader has led, the leader is chosen (our rule, without a proof).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import choose
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.base import Policy
from rankone.policies.engines.unimodal import (
    LeaderState,
    as_decision,
    best_on_cross,
    find_leader,
    mean_of,
    score,
    start_leaders,
)

_ENOUGH = 3.0


class TopTwoState(LeaderState):
    """Counts and leader."""


@dataclass(frozen=True)
class TopTwo(Policy):
    """Half of the decisions to the leader, half to its closest rival: decides soonest, earns less than UTS.

    >>> TopTwo().label
    'top-two'
    """

    name: ClassVar[str] = "top-two"
    suits: ClassVar[str] = "finding the winner and stopping (live: auto_stop); earns fewer clicks than uts meanwhile"

    def start(self, n_rows: int, n_cols: int) -> TopTwoState:
        """Return the state before the first decision."""
        return start_leaders(TopTwoState, n_rows, n_cols)


@score.register(TopTwoState)
def _score(state: TopTwoState, leader: int, pair: int, best: float, rng: Any) -> float:
    n, other = state.pulls[leader], state.pulls[pair]
    if pair == leader:
        return -math.inf
    if n == 0 or other == 0:
        return math.inf
    common = (state.clicks[leader] + state.clicks[pair]) / (n + other)
    evidence = n * bernoulli_kl(mean_of(state, leader), common) + other * bernoulli_kl(mean_of(state, pair), common)
    return -evidence - math.log(other)


@choose.register(TopTwoState)
def _choose(state: TopTwoState, rng: Any) -> tuple[int, int, int]:
    leader = find_leader(state, rng)
    if state.led[leader] % 2 == 0:
        return as_decision(state, leader)
    challenger = best_on_cross(state, leader, rng)
    if -score(state, leader, challenger, -math.inf, rng) > _ENOUGH * math.log(state.led[leader]):
        return as_decision(state, leader)
    return as_decision(state, challenger)
