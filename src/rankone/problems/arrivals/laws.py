"""Who arrives next: all users equally often, some more often than others, or new ones all the time."""

from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.specs import one_of

LAWS = ("uniform", "weighted", "zipf", "cold")
Law = Annotated[str, LAWS]


def shares_of(law: str, users: int, seed: int) -> Floats:
    """Return how much of the traffic each user is.

    ``weighted`` draws weights from 0.1 to 0.9 (Maillard, Mannor 2014); ``zipf`` gives the k-th user a share of 1 / k;
    of ``cold`` users nobody is more frequent, but nobody stays: see `Arrivals`.

    >>> shares_of("zipf", 2, seed=0).round(3).tolist()
    [0.667, 0.333]
    """
    one_of("arrivals", law, LAWS)
    weights = np.ones(users)
    if law == "weighted":
        weights = generator(seed, "arrivals").uniform(0.1, 0.9, users)
    elif law == "zipf":
        weights = 1.0 / np.arange(1.0, users + 1.0)
    return weights / weights.sum()


@noalloc
def arriving(upto: Floats, visits: int, window: int, step: int, rng: Any) -> int:
    """Return the user who arrives: by shares; or, where `visits` is not 0, one of the `window` newest users, where
    every so many visits a new one joins and the oldest leaves."""
    users = len(upto)
    if visits > 0:
        return (step // visits + int(rng.random() * window)) % users
    drawn, low, high = rng.random() * upto[users - 1], 0, users - 1
    while low < high:
        middle = (low + high) // 2
        if drawn < upto[middle]:
            high = middle
        else:
            low = middle + 1
    return low
