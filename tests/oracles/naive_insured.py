"""Insured UTS as its definition says: a coin decides whether everybody draws, or only the leader's cross."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.kernels.policy import decide
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import write_levels
from rankone.policies.engines.unimodal import best_on_cross, find_leader, score, start_leaders
from tests.oracles.naive_uts import NaiveUTSState


class NaiveInsuredState(NaiveUTSState):
    """Counts, leader; `level` holds gamma, the share and the decisions so far."""


@dataclass(frozen=True)
class NaiveInsured(CombinationPolicy):
    """The slow twin of insured UTS, where all combinations are insured."""

    share: float = 0.3
    name: ClassVar[str] = "naive-insured"

    def begin(self, sizes: Any, forbidden: Any) -> NaiveInsuredState:
        return start_leaders(NaiveInsuredState, sizes, forbidden, 2.0, self.share, 0.0)


@decide.register(NaiveInsuredState)
def _decide(state: NaiveInsuredState, context: Any, rng: Any, shown: Any) -> int:
    leader = chosen = find_leader(state, rng)
    state.level[2] += 1.0
    if rng.random() < state.level[1] * math.sqrt(len(state.pulls) / state.level[2]):
        highest = -1.0
        for pair in range(len(state.pulls)):
            draw = score(state, leader, pair, -1.0, rng)
            if draw > highest:
                chosen, highest = pair, draw
    elif state.led[leader] % state.level[0] != 0.0:
        chosen = best_on_cross(state, leader, rng)
    write_levels(state.sizes, chosen, shown)
    return 0
