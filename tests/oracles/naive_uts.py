"""Unimodal Thompson sampling as its definition says: every pair of the leader's cross draws its Beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.kernels.policy import choose
from rankone.policies.base import Policy
from rankone.policies.engines.unimodal import (
    LeaderState,
    as_decision,
    best_on_cross,
    find_leader,
    score,
    start_leaders,
)


class NaiveUTSState(LeaderState):
    """Counts, leader, and gamma as `level[0]`."""


@dataclass(frozen=True)
class NaiveUTS(Policy):
    """The slow twin of UTS."""

    gamma: int = 2
    name: ClassVar[str] = "naive-uts"

    def start(self, n_rows: int, n_cols: int) -> NaiveUTSState:
        return start_leaders(NaiveUTSState, n_rows, n_cols, self.gamma)


@score.register(NaiveUTSState)
def _score(state: NaiveUTSState, leader: int, pair: int, best: float, rng: Any) -> float:
    return rng.beta(state.clicks[pair] + 1.0, state.pulls[pair] - state.clicks[pair] + 1.0)


@choose.register(NaiveUTSState)
def _choose(state: NaiveUTSState, rng: Any) -> tuple[int, int, int]:
    leader = find_leader(state, rng)
    if state.led[leader] % state.level[0] == 0.0:
        return as_decision(state, leader)
    return as_decision(state, best_on_cross(state, leader, rng))


def naive_uts(policy: Any, state: Any) -> NaiveUTSState:
    """Return the state of the slow twin at the counts of a state of UTS."""
    values = {name: getattr(state, name).copy() for name in LeaderState._fields}
    return NaiveUTSState(**values | {"level": np.array([float(policy.gamma)])})
