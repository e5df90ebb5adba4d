"""Unimodal Thompson sampling as its definition says: every pair of the leader's cross draws its Beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.unimodal import (
    LeaderState,
    best_on_cross,
    find_leader,
    score,
    start_leaders,
)


class NaiveUTSState(LeaderState):
    """Counts, leader, and gamma as `level[0]`."""


@dataclass(frozen=True)
class NaiveUTS(CombinationPolicy):
    """The slow twin of UTS."""

    gamma: int = 2
    name = "naive-uts"

    def _begin(self, sizes: Any, forbidden: Any) -> NaiveUTSState:
        return start_leaders(NaiveUTSState, sizes, forbidden, self.gamma)


@score.register(NaiveUTSState)
def _score(state: NaiveUTSState, leader: int, pair: int, best: float, rng: Any) -> float:
    return rng.beta(state.clicks[pair] + 1.0, state.pulls[pair] - state.clicks[pair] + 1.0)


@decide.register(NaiveUTSState)
def _decide(state: NaiveUTSState, context: Any, rng: Any, shown: Any) -> int:
    leader = chosen = find_leader(state, rng)
    if state.led[leader] % state.constants[0] != 0.0:
        chosen = best_on_cross(state, leader, rng)
    write_levels(state.sizes, chosen, shown)
    return 0


def naive_uts(policy: Any, state: Any) -> NaiveUTSState:
    """Return the state of the slow twin at the counts of a state of UTS."""
    values = {name: getattr(state, name).copy() for name in LeaderState._fields}
    return NaiveUTSState(**values | {"level": np.array([float(policy.gamma)])})
