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

With ``coin=True`` a coin says whether it is the leader's turn. That is the form in which it runs live: half of the
decisions would be certain beforehand otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from rankone.kernels.policy import chances, choose
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.base import Policy, check_coin
from rankone.policies.engines.leader_chances import best_score, leader_chances, spread, spread_over_best
from rankone.policies.engines.pair_chances import add_chance
from rankone.policies.engines.unimodal import (
    LEADER_N_COLS,
    LeaderState,
    as_decision,
    best_on_cross,
    find_leader,
    mean_of,
    score,
    start_leaders,
)

_ENOUGH = 3.0
TOP_TWO_COIN = 0  # field of `level`


class TopTwoState(LeaderState):
    """Counts and leader, and whether a coin is tossed as `level[TOP_TWO_COIN]`."""


@dataclass(frozen=True)
class TopTwo(Policy):
    """Half of the decisions to the leader, half to its closest rival: decides soonest, earns less than UTS.

    Args:
        coin: whose turn it is is drawn; otherwise they take turns.

    >>> TopTwo().label, TopTwo().live().label
    ('top-two', 'top-two:coin=true')
    """

    coin: bool = False

    name: ClassVar[str] = "top-two"
    suits: ClassVar[str] = "finding the winner and stopping (live: auto_stop); earns fewer clicks than uts meanwhile"

    def __post_init__(self) -> None:
        check_coin(self.coin)

    def live(self) -> Self:
        """Return the form that tosses a coin."""
        return replace(self, coin=True)

    def start(self, n_rows: int, n_cols: int) -> TopTwoState:
        """Return the state before the first decision."""
        return start_leaders(TopTwoState, n_rows, n_cols, self.coin)


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
    if rng.random() < 0.5 if state.level[TOP_TWO_COIN] else state.led[leader] % 2 == 0:
        return as_decision(state, leader)
    challenger = best_on_cross(state, leader, rng)
    if -score(state, leader, challenger, -math.inf, rng) > _ENOUGH * math.log(state.led[leader]):
        return as_decision(state, leader)
    return as_decision(state, challenger)


@spread.register(TopTwoState)
def _spread(state: TopTwoState, leader: int, weight: float, shown: Any, found: Any) -> None:
    forced = 0.5 * weight if state.level[TOP_TWO_COIN] else weight * (state.led[leader] % 2 == 0)
    if -best_score(state, leader)[0] > _ENOUGH * math.log(state.led[leader]):
        forced = weight
    add_chance(state.clock[LEADER_N_COLS], shown, found, leader, forced)
    spread_over_best(state, leader, weight - forced, shown, found)


chances.register(TopTwoState)(leader_chances)
