"""How probable a decision of Thompson sampling was: who draws the largest (by `rankone.numerics.beta_winner`).

These kernels take a few arrays and not the state: a state of many arrays takes long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.beta_winner import GROUP_CLICKS, GROUP_PULLS, GROUP_SIZE, compare, curves_of, win_chance
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.engines.pair_chances import add_chance, clear_chances

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# More rows of a table of groups: the group of each pair; where to look for the group with given counts.
PAIR_GROUP, PAIR_SLOT = range(3, 5)
_SPREAD = 1_000_003  # an odd multiplier: counts that differ little land in slots far apart


@noalloc
def _on_cross(n_rows: int, n_cols: int, leader: int, place: int) -> int:
    """Return the pair at a place, from 0, of the leader's column, then of the rest of its row."""
    col = leader % n_cols
    if place < n_rows:
        return place * n_cols + col
    place -= n_rows
    return leader - col + place + (place >= col)


@kernel
def _start_table(n_pairs: int) -> Ints:
    """Return a table of groups in which no pair has one yet; at least half of its slots stay empty."""
    size = 2
    while size < 2 * n_pairs:
        size *= 2
    table = np.empty((5, size), np.int64)
    for place in range(size):
        table[PAIR_GROUP, place] = table[PAIR_SLOT, place] = NOBODY
        table[GROUP_SIZE, place] = 0
    return table


@noalloc
def _group_of(table: Ints, n_groups: int, pulls: int, clicks: int) -> int:
    """Return the group with these counts; `n_groups`, where it is entered, if there is none so far."""
    mask = table.shape[1] - 1
    slot = (pulls * _SPREAD + clicks) & mask
    while table[PAIR_SLOT, slot] != NOBODY:
        group = table[PAIR_SLOT, slot]
        if table[GROUP_PULLS, group] == pulls and table[GROUP_CLICKS, group] == clicks:
            return group
        slot = (slot + 1) & mask
    table[PAIR_SLOT, slot] = n_groups
    table[GROUP_PULLS, n_groups] = pulls
    table[GROUP_CLICKS, n_groups] = clicks
    return n_groups


@kernel
def add_largest_draws(
    pulls: Ints, clicks: Ints, n_cols: int, leaders: Floats, drawing: int, shown: Any, found: Any
) -> None:
    """Add the probabilities of the decision if one of these leads and the largest draw on its cross decides.

    `leaders` has the pairs and, in its second row, the weight of each.
    """
    n_rows = len(pulls) // n_cols
    members = n_rows + n_cols - 1
    table = _start_table(len(pulls))
    n_groups: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for place in range(drawing):
        for step in range(members):
            pair = _on_cross(n_rows, n_cols, int(leaders[0, place]), step)
            if table[PAIR_GROUP, pair] == NOBODY:
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
    clear_chances(found)
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


@kernel
def fill_all_draws(pulls: Ints, clicks: Ints, n_cols: int, shown: Any, found: Any) -> None:
    """Fill in the probabilities if the largest draw of all pairs decides."""
    clear_chances(found)
    table = _start_table(len(pulls))
    n_groups: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for pair in range(len(pulls)):
        group = _group_of(table, n_groups, pulls[pair], clicks[pair])
        table[PAIR_GROUP, pair] = group
        table[GROUP_SIZE, group] += 1
        n_groups = max(n_groups, group + 1)
    curves = curves_of(table, n_groups)
    compare(table, n_groups, curves)
    for pair in range(len(pulls)):
        if pair // n_cols == shown[0] or pair % n_cols == shown[1]:
            add_chance(n_cols, shown, found, pair, win_chance(curves, table[PAIR_GROUP, pair]))
