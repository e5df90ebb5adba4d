"""Thompson sampling on the K * L pairs: Thompson (1933); Agrawal, Goyal, "Analysis of Thompson Sampling for the
Multi-armed Bandit Problem" (2012), Algorithm 1 for Bernoulli rewards.

Every pair draws from its posterior Beta(clicks + 1, pulls - clicks + 1); the largest draw is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses
from rankone.policies.pairs import PairState, remember_choice, start_pairs


class ThompsonState(PairState):
    """Pulls and clicks of every pair."""


@dataclass(frozen=True)
class Thompson(Policy):
    """Thompson sampling, every pair an arm of its own.

    >>> Thompson().label
    'thompson'
    """

    name: ClassVar[str] = "thompson"
    suits: ClassVar[str] = "pairs that need not be rank-1; any horizon, late outcomes"

    def start(self, n_rows: int, n_cols: int) -> ThompsonState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        state: ThompsonState = start_pairs(ThompsonState, n_rows, n_cols)
        return state


@chooses.register(ThompsonState)
def _choose(state: PairState, rng: Any) -> tuple[int, int, int]:
    best, highest = 0, -1.0
    for pair in range(len(state.pulls)):
        draw = rng.beta(state.clicks[pair] + 1.0, state.pulls[pair] - state.clicks[pair] + 1.0)
        if draw > highest:
            best, highest = pair, draw
    return remember_choice(state, best)
