"""Draw some items of many at random, without drawing all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc

Ints = npt.NDArray[np.int64]


@noalloc
def draw_items(items: Ints, shown: Any, first: int, rng: Any) -> None:
    """Fill `shown` from a place on with different items, drawn uniformly (Fisher-Yates, as far as it is needed)."""
    count = len(items)
    for place in range(len(shown) - first):
        other = place + int(rng.random() * (count - place))
        items[place], items[other] = items[other], items[place]
        shown[first + place] = items[place]
