"""Draw some items of many at random, without drawing all."""

from __future__ import annotations

from typing import Any

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Ints


@noalloc
def draw_items(items: Ints, shown: Any, first: int, rng: Any) -> None:
    """Fill `shown` from a place on with different items, drawn uniformly (Fisher-Yates, as far as it is needed)."""
    count = len(items)
    for place in range(len(shown) - first):
        other = place + int(rng.random() * (count - place))
        items[place], items[other] = items[other], items[place]
        shown[first + place] = items[place]
