"""How `chances` of a policy on pairs answers: a number for each row with the column shown, then for each column with
the row shown.
"""

from __future__ import annotations

from typing import Any

from rankone.compiling.compiled import noalloc


@noalloc
def clear_chances(found: Any) -> None:
    """Begin an answer in which nothing is probable yet."""
    for level in range(len(found)):
        found[level] = 0.0


@noalloc
def add_chance(n_cols: int, shown: Any, found: Any, pair: int, chance: float) -> None:
    """Add to the probability of a pair, wherever it is asked for."""
    row, col = pair // n_cols, pair % n_cols
    if col == shown[1]:
        found[row] += chance
    if row == shown[0]:
        found[len(found) - n_cols + col] += chance
