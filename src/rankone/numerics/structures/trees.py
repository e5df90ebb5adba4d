"""Trees in plain arrays, for compiled code: a calendar, sums, and who is best.

**Calendar**: a binary heap of records, rows of whole numbers, ordered by their first two entries.

**Sums** over values that change one at a time, and who a point of the total belongs to. Node i is the sum of nodes 2i
and 2i + 1; the leaves, a power of two of them, are the values and then zeros. Place 0 is unused.

**Tournament**: the best of n values that change one at a time, with every tie known. Node i is the better of nodes 2i
and 2i + 1; the leaves are the values, and place 0 is unused. Each node counts the leaves that share its value, so one
of the tied best is drawn uniformly on the way down.
"""

from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats, Ints


@noalloc
def is_before(records: Ints, first: int, second: int) -> bool:
    """Tell whether one record comes before another."""
    if records[first, 0] != records[second, 0]:
        return bool(records[first, 0] < records[second, 0])
    return bool(records[first, 1] < records[second, 1])


@noalloc
def swap(records: Ints, first: int, second: int) -> None:
    """Exchange two records."""
    for field in range(records.shape[1]):
        records[first, field], records[second, field] = records[second, field], records[first, field]


@noalloc
def enter_last(records: Ints, size: int) -> None:
    """Bring the record written at place `size`, behind the `size` there are, to its place."""
    index = size
    while index > 0 and is_before(records, index, (index - 1) // 2):
        swap(records, index, (index - 1) // 2)
        index = (index - 1) // 2


@noalloc
def drop_first(records: Ints, size: int) -> None:
    """Take the earliest of `size` records away; the others are then the first ``size - 1``."""
    last = size - 1
    swap(records, 0, last)
    index = 0
    while 2 * index + 1 < last:
        child = 2 * index + 1
        if child + 1 < last and is_before(records, child + 1, child):
            child += 1
        if not is_before(records, child, index):
            break
        swap(records, index, child)
        index = child


def start_sums(count: int) -> Floats:
    """Return the tree over so many zeros.

    >>> len(start_sums(5))
    16
    """
    return np.zeros(2 << (count - 1).bit_length())


@noalloc
def set_share(tree: Floats, index: int, value: float) -> None:
    """Change one value."""
    node = (len(tree) >> 1) + index
    tree[node] = value
    while node > 1:
        node >>= 1
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@noalloc
def sum_up(tree: Floats) -> None:
    """Sum all nodes after the leaves were filled in."""
    for node in range((len(tree) >> 1) - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@noalloc
def owner(tree: Floats, point: float) -> tuple[int, float]:
    """Return whose share of the line from 0 to the total holds a point, and where that share ends."""
    leaves, node, begin = len(tree) >> 1, 1, 0.0
    while node < leaves:
        node *= 2
        if point >= begin + tree[node] and tree[node + 1] > 0.0:
            begin += tree[node]
            node += 1
    return node - leaves, begin + tree[node]


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
