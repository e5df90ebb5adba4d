"""Who is best, with every tie known: a tournament tree over values that change one at a time.

Node i is the better of nodes 2i and 2i + 1; the leaves are the n values (place 0 is unused). Each node also counts how
many leaves share its value, so that one of the tied best can be drawn uniformly on the way down. Changing a value and
drawing a winner cost O(log n).
"""

from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints


def start_tournament(values: Floats) -> tuple[Floats, Ints]:
    """Return the tree (best, ties) over the values.

    >>> best, ties = start_tournament(np.array([0.5, 0.2, 0.1, 0.5]))
    >>> float(best[1]), int(ties[1])
    (0.5, 2)
    """
    best = np.concatenate([np.zeros(len(values)), values])
    ties = np.ones(2 * len(values), np.int64)
    above = len(values)  # nodes from here on are done
    while above > 1:
        first = (above + 1) // 2  # nodes from here on have both of theirs among them
        left, right = slice(2 * first, 2 * above, 2), slice(2 * first + 1, 2 * above, 2)
        here = best[first:above] = np.maximum(best[left], best[right])
        ties[first:above] = ties[left] * (best[left] == here) + ties[right] * (best[right] == here)
        above = first
    return best, ties


@noalloc
def set_value(best: Floats, ties: Ints, index: int, value: float) -> None:
    """Change one value; the walk up stops where nothing changes any more."""
    node = (len(best) >> 1) + index
    best[node] = value
    while node > 1:
        left, right = node & -2, node | 1
        winner, tied = best[left], ties[left]
        if best[right] > winner:
            winner, tied = best[right], ties[right]
        elif best[right] == winner:
            tied += ties[right]
        node >>= 1
        if best[node] == winner and ties[node] == tied:
            return
        best[node] = winner
        ties[node] = tied


@noalloc
def draw_best(best: Floats, ties: Ints, rng: Any) -> int:
    """Return the place of the best value; of several, one drawn uniformly."""
    size = len(best) >> 1
    node = 1
    while node < size:
        left, right = 2 * node, 2 * node + 1
        if best[left] != best[right]:
            node = left if best[left] > best[right] else right
        else:
            node = left if rng.random() * (ties[left] + ties[right]) < ties[left] else right
    return node - size
