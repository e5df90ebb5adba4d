"""How probable a decision of a unimodal policy was: a mixture over the pairs that were equally likely to lead.

Given who leads, a policy says how it spreads the decision over that pair and its cross (`spread`). What a decision has
changed since then, who led and how often, is taken back while this is worked out.
"""

from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import optional
from rankone.numerics.structures.hash_tables import NOBODY, number_at
from rankone.policies.engines.combinations import add_chance, may_show
from rankone.policies.engines.unimodal import (
    LEADER_ALL,
    LEADER_CENTRE,
    LEADER_CHAMPION,
    LEADER_LAST,
    LEADER_REACHED,
    LEADER_USED,
    mean_at,
    reached,
    score,
)

_MANY = 4096  # combinations


@noalloc
def best_score(state: Any, leader: int) -> tuple[float, int]:
    """Return the highest score on the leader's cross, and how many pairs have it."""
    best, tied = score(state, leader, leader, -np.inf, None), 1
    for index in range(reached(state, leader)):
        value = score(state, leader, state.reach[index], -np.inf, None)
        if value > best:
            best, tied = value, 1
        elif value == best:
            tied += 1
    return best, tied


@noalloc
def spread_over_best(state: Any, leader: int, weight: float, shown: Any, cross: Any) -> None:
    """Share a weight evenly among the pairs of the cross with the highest score, as `best_on_cross` draws one."""
    best, tied = best_score(state, leader)
    others = reached(state, leader)
    for index in range(others + 1):
        combination = state.reach[index] if index < others else leader
        if score(state, leader, combination, -np.inf, None) == best:
            add_chance(state.sizes, shown, cross, combination, weight / tied)


@optional
def spread(state: Any, leader: int, weight: float, shown: Any, cross: Any) -> None:
    """Add, times a weight, the probabilities of the decision given who leads; `led` counts that it does."""
    spread_over_best(state, leader, weight, shown, cross)


@noalloc
def nothing_known(state: Any) -> bool:
    """Tell whether there are many combinations and no outcome at all: then all of them are alike."""
    return (
        state.pulls[state.counters[LEADER_CHAMPION]] == 0 and state.best[1] < 0.0 and state.counters[LEADER_ALL] > _MANY
    )


@noalloc
def fill_evenly(state: Any, cross: Any) -> bool:
    """Fill in the same probability for every combination; False where forbidden ones make them unlike."""
    for level in range(len(cross)):
        cross[level] = 1.0 / state.counters[LEADER_ALL]
    return len(state.forbidden) == 0


@noalloc
def leaders_among(state: Any) -> tuple[int, int, float, float]:
    """Return where to look for leaders, first slot and end; the best empirical mean; one over how many have it."""
    champion, best = state.counters[LEADER_CHAMPION], state.best[1]
    mean = mean_at(state, champion)
    if mean > best:
        return champion, champion + 1, mean, 1.0
    end = len(state.pulls) if len(state.keys) == 0 else state.counters[LEADER_USED]
    return 0, end, best, 1.0 / (state.ties[1] + (mean == best))


def leader_chances(state: Any, shown: Any, cross: Any) -> bool:
    """`chances` of a policy with a leader and scores without randomness; `spread` may be registered."""
    if nothing_known(state):
        return fill_evenly(state, cross)
    cross[:] = 0.0
    last, centre = state.counters[LEADER_LAST], state.counters[LEADER_CENTRE]
    first, end, best, weight = leaders_among(state)
    if last != NOBODY:
        state.led[last] -= 1
    for leader in range(first, end):
        if mean_at(state, leader) == best and may_show(state, number_at(state.keys, leader)):
            state.led[leader] += 1
            spread(state, number_at(state.keys, leader), weight, shown, cross)
            state.led[leader] -= 1
    if last != NOBODY:
        state.led[last] += 1
    if centre != NOBODY:  # a state is the same whether somebody asked for chances or not
        reached(state, centre)
    else:
        state.reach[:] = 0
        state.counters[LEADER_CENTRE], state.counters[LEADER_REACHED] = NOBODY, 0
    return True
