"""Insured UTS as its definition says: a coin decides whether everybody draws, or only the leader's cross."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rankone.compiling.compiled import noalloc
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

    share: float = 0.5
    name = "naive-insured"

    def _begin(self, sizes: Any, forbidden: Any) -> NaiveInsuredState:
        return start_leaders(NaiveInsuredState, sizes, forbidden, 2.0, self.share, 0.0)


@noalloc
def ruled_out(state: Any, pair: int, leader: int) -> bool:
    """Whether the outcomes of a pair speak against it, by the definition of the divergence."""
    pulls, clicks = state.pulls[pair], state.clicks[pair]
    if pulls < 3 or state.clicks[leader] == 0:
        return False
    mean, best = clicks / pulls, state.clicks[leader] / state.pulls[leader]
    against = 0.0
    if clicks > 0:
        against += clicks * math.log(mean / best)
    if clicks < pulls and best < 1.0:
        against += (pulls - clicks) * math.log((1.0 - mean) / (1.0 - best))
    if clicks < pulls and best >= 1.0:
        return True
    return mean < best and against > 0.5 + 0.2 * math.log(state.constants[2])


@decide.register(NaiveInsuredState)
def _decide(state: NaiveInsuredState, context: Any, rng: Any, shown: Any) -> int:
    leader = chosen = find_leader(state, rng)
    state.constants[2] += 1.0
    flat = rng.random() < state.constants[1] * math.sqrt(len(state.pulls) / state.constants[2])
    if flat:
        highest = -1.0
        for pair in range(len(state.pulls)):
            draw = score(state, leader, pair, -1.0, rng)
            if draw > highest:
                chosen, highest = pair, draw
        if ruled_out(state, chosen, leader) and rng.random() >= 0.05:
            flat, chosen = False, leader
    if not flat and state.led[leader] % state.constants[0] != 0.0:
        chosen = best_on_cross(state, leader, rng)
    write_levels(state.sizes, chosen, shown)
    return 0
