"""What UCB1 and KL-UCB share: choose the pair with the largest index, by the exact engine of
`engines.indices.index_race`.

A policy registers its index for its class of state (see `engines.indices.index_race`); choosing and learning come with
`IndexState`. A pair without an outcome comes first. Ties go to the pair chosen longest ago, and among pairs never
chosen to a random one. In a live experiment that starts afresh, time goes on: outcomes known from before count as
decisions made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.policy import View, chances, decide, learn, prepare, relearn, view
from rankone.policies.beliefs import combination_view
from rankone.policies.engines.combinations import (
    add_chance,
    clear_chances,
    is_forbidden,
    learn_combination,
    relearn_combination,
)
from rankone.policies.engines.indices.index_groups import (
    CHOSEN,
    CLICKS,
    PULLS,
    RACE_ASKED,
    RACE_HELD,
    RACE_HELD_CHOSEN,
    IndexState,
)
from rankone.policies.engines.indices.index_race import choose_largest, exploration_level, hold_any, index_at

decide.register(IndexState)(choose_largest)
prepare.register(IndexState)(hold_any)


learn.register(IndexState)(learn_combination)
_relearn_combination = inlined(relearn_combination)


@relearn.register(IndexState)
def _relearn(state: IndexState, shown: Any, pulls: int, clicks: int) -> None:
    _relearn_combination(state, shown, pulls, clicks)
    state.counters[RACE_ASKED] += pulls


@noalloc
def ties_with_held(state: IndexState, combination: int, level: float) -> bool:
    """Tell whether a pair might as well have been chosen as the one held: never chosen either, with the same index."""
    pairs, held = state.pairs, state.counters[RACE_HELD]
    if combination == held:
        return True
    if len(state.forbidden) > 0 and is_forbidden(state.sizes, state.forbidden, combination):
        return False
    if pairs[combination, CHOSEN] >= 0 or state.counters[RACE_HELD_CHOSEN] >= 0:
        return False
    if pairs[combination, PULLS] == 0 or pairs[held, PULLS] == 0:
        return pairs[combination, PULLS] == pairs[held, PULLS]
    index = index_at(state, pairs[held, PULLS], pairs[held, CLICKS], level)
    return index_at(state, pairs[combination, PULLS], pairs[combination, CLICKS], level) == index


@chances.register(IndexState)
def _chances(state: IndexState, shown: Any, cross: Any) -> bool:
    """Only ties between pairs never chosen are left to chance: their order was drawn, but nobody has seen it yet."""
    clear_chances(cross)
    counters, tied = state.counters, 1
    first, end, level = counters[RACE_HELD], counters[RACE_HELD] + 1, exploration_level(state, counters[RACE_ASKED] - 1)
    if counters[RACE_HELD_CHOSEN] < 0:
        first, end, tied = 0, len(state.pairs), 0
        for combination in range(end):
            tied += ties_with_held(state, combination, level)
    for combination in range(first, end):
        if ties_with_held(state, combination, level):
            add_chance(state.sizes, shown, cross, combination, 1.0 / tied)
    return True


@view.register(IndexState)
def _view(state: IndexState) -> View | None:
    level = exploration_level(state, int(state.counters[RACE_ASKED]))
    counts = zip(state.pulls.tolist(), state.clicks.tolist(), strict=True)
    index = np.array([index_at(state, pulls, clicks, level) if pulls else np.inf for pulls, clicks in counts])
    return combination_view(
        state, np.full(len(index), np.nan), index, "mean and index: the largest index is shown next"
    )
