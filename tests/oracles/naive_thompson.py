"""Flat Thompson sampling as its definition says: every pair draws its Beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.kernels.policy import decide
from rankone.policies.base import Policy
from tests.oracles.pairs import PairState, remember_choice, start_pairs


class NaiveThompsonState(PairState):
    """Pulls and clicks of every pair."""


@dataclass(frozen=True)
class NaiveThompson(Policy):
    """The slow twin of flat Thompson sampling."""

    name = "naive-thompson"

    def start(self, n_rows: int, n_cols: int) -> NaiveThompsonState:
        return start_pairs(NaiveThompsonState, n_rows, n_cols)


@decide.register(NaiveThompsonState)
def _decide(state: NaiveThompsonState, context: Any, rng: Any, shown: Any) -> int:
    best, highest = 0, -1.0
    for pair in range(len(state.pulls)):
        draw = rng.beta(state.clicks[pair] + 1.0, state.pulls[pair] - state.clicks[pair] + 1.0)
        if draw > highest:
            best, highest = pair, draw
    return remember_choice(state, best, shown)


def naive_thompson(policy: Any, state: Any) -> NaiveThompsonState:
    """Return the state of the slow twin at the counts of a state of flat Thompson sampling."""
    plain = NaiveThompson().start(*state.sizes.tolist())
    np.copyto(plain.pulls, state.pulls)
    np.copyto(plain.clicks, state.clicks)
    return plain
