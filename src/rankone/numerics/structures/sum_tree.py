"""A tree of sums over values that change one at a time: the total, and who a point of the total belongs to.

Node i is the sum of nodes 2i and 2i + 1; the leaves, a power of two of them, are the values and then zeros. Changing a
value and finding the owner of a point cost O(log n). Place 0 of the array is unused.
"""

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats


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
