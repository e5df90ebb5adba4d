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
