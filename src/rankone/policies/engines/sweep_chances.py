"""How probable a decision of an eliminating policy was.

Most of its decisions are certain: a sweep plays its levels one after another with the partner drawn at its beginning.
What is drawn is that partner, and ties where outcomes are waited for. Eliminations, and the partners that an opening
stage of rank1elim-kl-anytime lays down, count as made before the decision that they come with.
"""

from __future__ import annotations

from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import chances
from rankone.policies.engines.elimination import (
    ANY_COL,
    ANY_ROW,
    LEADING,
    SWEEP_HOW,
    SWEEP_LAST_COL,
    SWEEP_LAST_ROW,
    SWEEP_N_ROWS,
    SWEEP_ROWS_LEFT,
    SweepState,
)


@dispatched
def partner_share(state: Any, level: int) -> float:
    """Probability that a level is drawn as the partner of a sweep."""
    raise NotImplementedError


@partner_share.register(SweepState)
def _partner_share(state: SweepState, level: int) -> float:
    """Return the share of the draws that lead to this level, be it directly or because it defeated who was drawn."""
    first, last = 0, state.clock[SWEEP_N_ROWS]
    if level >= last:
        first, last = last, len(state.pulls)
    drawn = 0
    for other in range(first, last):
        drawn += state.defeated_by[other] == level
    return drawn / (last - first)


@noalloc
def leading_share(state: Any, side: int, level: int) -> float:
    """Return the probability that `leading_pair` returns this level for its side."""
    first = state.clock[SWEEP_N_ROWS] * side
    best, tied, its = -1.0, 0, -2.0
    for place in range(first, first + state.clock[SWEEP_ROWS_LEFT + side]):
        other = state.remaining[place]
        mean = state.clicks[other] / (state.pulls[other] + (state.pulls[other] == 0))
        tied = 1 if mean > best else tied + (mean == best)
        best = max(best, mean)
        if other == level:
            its = mean
    return 1.0 / tied if its == best else 0.0


@noalloc
def pair_chance(state: Any, row: int, col: int) -> float:
    """Return the probability that the last decision was this pair."""
    clock, how, col_level = state.clock, state.clock[SWEEP_HOW], state.clock[SWEEP_N_ROWS] + col
    if how == LEADING:
        return leading_share(state, 0, row) * leading_share(state, 1, col_level)
    if (row != clock[SWEEP_LAST_ROW] and how != ANY_ROW) or (col != clock[SWEEP_LAST_COL] and how != ANY_COL):
        return 0.0
    if how == ANY_ROW:
        return partner_share(state, row)
    return partner_share(state, col_level) if how == ANY_COL else 1.0


def sweep_chances(state: Any, shown: Any, found: Any) -> bool:
    """`chances` of a policy that sweeps."""
    n_rows = state.clock[SWEEP_N_ROWS]
    for level in range(len(found)):
        if level < n_rows:
            found[level] = pair_chance(state, level, shown[1])
        else:
            found[level] = pair_chance(state, shown[0], level - n_rows)
    return True


chances.register(SweepState)(sweep_chances)
