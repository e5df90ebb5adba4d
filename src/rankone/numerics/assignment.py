"""The assignment problem: each column its own row, with the largest sum (the Hungarian method, by shortest paths).

K columns of L rows take some K^2 L steps at most. Scratch space is the caller's: three lines of numbers and three of
whole numbers, each one longer than there are rows.
"""

import math
from typing import Any

from rankone.compiling.compiled import noalloc

# Lines of the scratch space.
ROW_PRICE, COL_PRICE, NEAREST = range(3)
OWNER, PATH_BEFORE, SEEN = range(3)


@noalloc
def _look_from(values: Any, duals: Any, pairs: Any, here: int) -> tuple[float, int]:
    """Look for shorter paths over a row that is taken; return how far the nearest free row is, and which it is."""
    its, step, nearest = pairs[OWNER, here], math.inf, 0
    for row in range(len(values)):
        if pairs[SEEN, row] == 0:
            cost = -values[row, its] - duals[COL_PRICE, its] - duals[ROW_PRICE, row]
            if cost < duals[NEAREST, row]:
                duals[NEAREST, row], pairs[PATH_BEFORE, row] = cost, here
            if duals[NEAREST, row] < step:
                step, nearest = duals[NEAREST, row], row
    return step, nearest


@noalloc
def assign(values: Any, duals: Any, pairs: Any, chosen: Any) -> None:
    """Fill in the row of each column of `values` (rows, columns) such that the sum is largest."""
    n_rows, n_cols = values.shape
    for row in range(n_rows + 1):
        duals[ROW_PRICE, row] = duals[COL_PRICE, row] = 0.0
        pairs[OWNER, row] = -1
    for col in range(n_cols):
        for row in range(n_rows + 1):
            duals[NEAREST, row], pairs[SEEN, row] = math.inf, 0
        here = n_rows  # a row that does not exist, which this column begins with
        pairs[OWNER, here] = col
        while pairs[OWNER, here] >= 0:
            pairs[SEEN, here] = 1
            step, nearest = _look_from(values, duals, pairs, here)
            for row in range(n_rows + 1):
                if pairs[SEEN, row]:
                    duals[COL_PRICE, pairs[OWNER, row]] += step
                    duals[ROW_PRICE, row] -= step
                else:
                    duals[NEAREST, row] -= step
            here = nearest
        while here != n_rows:  # everyone on the path moves on
            pairs[OWNER, here] = pairs[OWNER, pairs[PATH_BEFORE, here]]
            here = pairs[PATH_BEFORE, here]
    for row in range(n_rows):
        if pairs[OWNER, row] >= 0:
            chosen[pairs[OWNER, row]] = row
