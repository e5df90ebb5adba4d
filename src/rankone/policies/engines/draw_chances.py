"""How probable a decision of Thompson sampling was: who draws the largest (by `rankone.numerics.beta_winner`).

These kernels take a few arrays and not the state: a state of many arrays takes long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.beta_winner import GROUP_CLICKS, GROUP_PULLS, GROUP_SIZE, compare, curves_of, win_chance
from rankone.policies.engines.leader_chances import add_chance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Rows of a table of pairs, whose first `drawing` columns are of leaders; and its first rows are those of groups.
PAIR_LEADER, PAIR_GROUP = range(3, 5)


@noalloc
def _on_cross(n_rows: int, n_cols: int, leader: int, place: int) -> int:
    """Return the pair at a place, from 0, of the leader's column, then of the rest of its row."""
    col = leader % n_cols
    if place < n_rows:
        return place * n_cols + col
    place -= n_rows
    return leader - col + place + (place >= col)


@noalloc
def _group_of(table: Ints, n_groups: int, pulls: int, clicks: int) -> int:
    """Return the group with these counts; `n_groups`, where it is entered, if there is none so far."""
    group = 0
    while group < n_groups and (table[GROUP_PULLS, group] != pulls or table[GROUP_CLICKS, group] != clicks):
        group += 1
    table[GROUP_PULLS, group] = pulls
    table[GROUP_CLICKS, group] = clicks
    return group


@kernel
def add_largest_draws(
    pulls: Ints, clicks: Ints, n_cols: int, leaders: Floats, drawing: int, shown: Any, found: Any
) -> None:
    """Add the probabilities of the decision if one of these leads and the largest draw on its cross decides.

    `leaders` has the pairs and, in its second row, the weight of each.
    """
    n_rows = len(pulls) // n_cols
    members = n_rows + n_cols - 1
    table = np.empty((5, len(pulls)), np.int64)
    for pair in range(len(pulls)):
        table[PAIR_GROUP, pair] = -1
    n_groups: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for place in range(drawing):
        for step in range(members):
            pair = _on_cross(n_rows, n_cols, int(leaders[0, place]), step)
            if table[PAIR_GROUP, pair] < 0:
                group = _group_of(table, n_groups, pulls[pair], clicks[pair])
                table[PAIR_GROUP, pair] = group
                n_groups = max(n_groups, group + 1)
    curves = curves_of(table, n_groups)
    for place in range(drawing):
        leader = int(leaders[0, place])
        for group in range(n_groups):
            table[GROUP_SIZE, group] = 0
        for step in range(members):
            table[GROUP_SIZE, table[PAIR_GROUP, _on_cross(n_rows, n_cols, leader, step)]] += 1
        compare(table, n_groups, curves)
        for step in range(members):
            pair = _on_cross(n_rows, n_cols, leader, step)
            if pair // n_cols == shown[0] or pair % n_cols == shown[1]:
                chance = win_chance(curves, table[PAIR_GROUP, pair])
                add_chance(n_cols, shown, found, pair, leaders[1, place] * chance)


@kernel
def fill_cross_draws(
    pulls: Ints, clicks: Ints, led: Ints, first: int, end: int, best: float, last: int, gamma: int, coin: int,
    n_cols: int, shown: Any, found: Any,
) -> None:  # fmt: skip
    """Fill in the probabilities of UTS. The leaders are those from first to end with the best mean.

    Who led last has been counted for this decision already; gamma and coin are UTS's own.
    """
    leaders = np.empty((2, end - first))
    n_leaders = 0
    drawing: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for level in range(len(found)):
        found[level] = 0.0
    for pair in range(first, end):
        n_leaders += (clicks[pair] / pulls[pair] if pulls[pair] > 0 else -1.0) == best
    for pair in range(first, end):
        if (clicks[pair] / pulls[pair] if pulls[pair] > 0 else -1.0) == best:
            forced = 1.0 if (led[pair] + (pair != last)) % gamma == 0 else 0.0
            if coin:
                forced = 1.0 / gamma
            add_chance(n_cols, shown, found, pair, forced / n_leaders)
            if forced < 1.0:
                leaders[0, drawing] = pair
                leaders[1, drawing] = (1.0 - forced) / n_leaders
                drawing += 1
    if drawing > 0:
        add_largest_draws(pulls, clicks, n_cols, leaders, drawing, shown, found)
