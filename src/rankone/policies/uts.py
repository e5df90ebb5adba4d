"""Unimodal Thompson sampling: Trinh, Kaufmann, Vernade, Combes, "Solving Bernoulli Rank-One Bandits with Unimodal
Thompson Sampling" (ALT 2020), Algorithm 1; first proposed by Paladino et al. (2017).

The leader is the pair with the best empirical mean. Every gamma-th time that a pair leads, it is chosen. At other times
the leader and each pair of its cross draw from their posterior Beta(clicks + 1, pulls - clicks + 1), and the largest
draw is chosen. The regret is asymptotically optimal for every gamma >= 2.

Lazy start: the paper pulls all K * L pairs first; here pairs without an outcome cannot lead and draw from Beta(1, 1) on
the leader's cross, which measures better (less than half the regret on the paper's needle at K = L = 128).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.errors import InputError
from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses
from rankone.policies.leaders import (
    LeaderState,
    as_decision,
    best_on_cross,
    find_leader,
    scores,
    start_leaders,
)


class UTSState(LeaderState):
    """Counts, leader, and gamma as `level[0]`."""


@dataclass(frozen=True)
class UTS(Policy):
    """Thompson sampling on the cross of the leader: needs no horizon, copes with delay, close to the lower bound.

    Args:
        gamma: the leader is chosen every gamma-th time that it leads.

    >>> UTS().label, UTS(gamma=5).label
    ('uts', 'uts:gamma=5')
    """

    gamma: int = 2
    name: ClassVar[str] = "uts"
    suits: ClassVar[str] = "most uses: little regret, horizon unknown, outcomes late or in batches"

    def __post_init__(self) -> None:
        if not isinstance(self.gamma, int) or isinstance(self.gamma, bool) or self.gamma < 2:
            raise InputError("gamma as a whole number of at least 2", self.gamma, "leave gamma=2, the paper's choice")

    def start(self, n_rows: int, n_cols: int) -> UTSState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        state: UTSState = start_leaders(UTSState, n_rows, n_cols, self.gamma)
        return state


@scores.register(UTSState)
def _score(state: UTSState, leader: int, pair: int, best: float, rng: Any) -> float:
    return rng.beta(state.clicks[pair] + 1.0, state.pulls[pair] - state.clicks[pair] + 1.0)  # type: ignore[no-any-return]


@chooses.register(UTSState)
def _choose(state: UTSState, rng: Any) -> tuple[int, int, int]:
    leader = find_leader(state, rng)
    if state.led[leader] % state.level[0] == 0.0:
        return as_decision(state, leader)
    return as_decision(state, best_on_cross(state, leader, rng))
