"""How probable a decision of a unimodal policy was: a mixture over the pairs that were equally likely to lead.

Before a decision the counts are known, and so is the set of pairs with the best empirical mean. Each of them leads with
the same probability; given who leads, a policy says how it spreads the decision over that pair and its cross
(`spread`). What a decision has changed since then, who led and how often, is taken back while this is worked out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import derived
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.engines.pair_chances import add_chance, clear_chances
from rankone.policies.engines.unimodal import (
    LEADER_CHAMPION,
    LEADER_LAST,
    LEADER_N_COLS,
    cross_size,
    mean_of,
    on_cross,
    score,
)


@noalloc
def best_score(state: Any, leader: int) -> tuple[float, int]:
    """Return the highest score on the leader's cross, and how many pairs have it."""
    best, tied = score(state, leader, leader, -np.inf, None), 1
    for place in range(cross_size(state)):
        value = score(state, leader, on_cross(state, leader, place), -np.inf, None)
        if value > best:
            best, tied = value, 1
        elif value == best:
            tied += 1
    return best, tied


@noalloc
def spread_over_best(state: Any, leader: int, weight: float, shown: Any, found: Any) -> None:
    """Share a weight evenly among the pairs of the cross with the highest score, as `best_on_cross` draws one."""
    best, tied = best_score(state, leader)
    for place in range(cross_size(state) + 1):
        pair = on_cross(state, leader, place) if place < cross_size(state) else leader
        if score(state, leader, pair, -np.inf, None) == best:
            add_chance(state.clock[LEADER_N_COLS], shown, found, pair, weight / tied)


def _spread(state: Any, leader: int, weight: float, shown: Any, found: Any) -> None:
    spread_over_best(state, leader, weight, shown, found)


@derived(lambda state_class: _spread)
def spread(state: Any, leader: int, weight: float, shown: Any, found: Any) -> None:
    """Add, times a weight, the probabilities of the decision given who leads; `led` counts that it does."""


@noalloc
def leaders_among(state: Any) -> tuple[int, int, float, float]:
    """Return where to look for leaders, first pair and end; the best empirical mean; one over how many have it."""
    champion, best = state.clock[LEADER_CHAMPION], state.best[1]
    mean = mean_of(state, champion)
    if mean > best:
        return champion, champion + 1, mean, 1.0
    return 0, len(state.pulls), best, 1.0 / (state.ties[1] + (mean == best))


def leader_chances(state: Any, shown: Any, found: Any) -> bool:
    """`chances` of a policy with a leader and scores without randomness; `spread` may be registered."""
    clear_chances(found)
    last = state.clock[LEADER_LAST]
    first, end, best, weight = leaders_among(state)
    if last != NOBODY:
        state.led[last] -= 1
    for leader in range(first, end):
        if mean_of(state, leader) == best:
            state.led[leader] += 1
            spread(state, leader, weight, shown, found)
            state.led[leader] -= 1
    if last != NOBODY:
        state.led[last] += 1
    return True
