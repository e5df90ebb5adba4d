"""Types of arrays, for every room above."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def starts_of(sizes: Sequence[int] | Ints) -> Ints:
    """Return where each of several stretches of these sizes begins, and where the last one ends.

    >>> starts_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.cumsum([0, *sizes])


def moved(before: Ints, after: Ints) -> Ints:
    """Return the new numbers of all things numbered stretch after stretch, whose stretches may have grown.

    Both have where each stretch begins; `before` also where the last one ends.

    >>> moved(starts_of([2, 1]), starts_of([3, 1, 5])).tolist()
    [0, 1, 3]
    """
    stretches = zip(before[:-1], before[1:], after, strict=False)
    return np.concatenate([np.arange(end - first) + new for first, end, new in stretches])


def allowed_table(rules: Ints, sizes: Sequence[int]) -> Mask:
    """Return which combinations no rule forbids; a rule has a level of each factor, below 0: any.

    >>> allowed_table(np.array([[0, 1], [-1, 2]]), (2, 3)).tolist()
    [[True, False, False], [True, True, False]]
    """
    mask = np.ones(tuple(sizes), bool)
    for rule in rules:
        mask[tuple(slice(None) if level < 0 else level for level in rule)] = False
    return mask
