"""What policies on lists share about reading: how far down a list was looked at, and who stands where.

After a click nobody knows whether a visitor read on. *until* says what a policy takes for granted:

* ``first``: up to the first click, as in a cascade; without a click, the whole list,
* ``last``: up to the last click, as with dependent clicks; without a click, the whole list,
* ``all``: the whole list. Items below a click that nobody looked at then count as refused,
* ``miss``: up to the first item that is not clicked, where all of them have to be (`comb-cascade`).

*order* says where the items go that a policy wants to show: ``best-first``, as people expect, or ``worst-first``. In a
cascade the reward is the same and more is learned, as less is hidden below a click (Kveton et al. 2015, section 5.3);
where clicks at the top are worth more, or positions are looked at differently, it costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import inlined
from rankone.errors import InputError
from rankone.numerics.arrays import Ints

UNTIL = {"first": 0, "last": 1, "all": 2, "miss": 3}
_LAST, _ALL, _MISS = UNTIL["last"], UNTIL["all"], UNTIL["miss"]
ORDERS = ("best-first", "worst-first")


def check_until(until: str) -> None:
    """Refuse a way of reading that there is none of."""
    if until not in UNTIL:
        raise InputError(f"until as one of {', '.join(UNTIL)}", until, "try until=first")


def check_order(order: str) -> None:
    """Refuse an order that there is none of."""
    if order not in ORDERS:
        raise InputError(f"order as one of {', '.join(ORDERS)}", order, "try order=worst-first")


def places_by_order(n_positions: int, order: str) -> Ints:
    """Return the position of the best item, of the second best, and so on.

    >>> places_by_order(3, "worst-first").tolist()
    [2, 1, 0]
    """
    places = np.arange(n_positions)
    return places if order == "best-first" else places[::-1].copy()


def places_by_weight(weights: npt.ArrayLike) -> Ints:
    """Return the position of the best item, of the second best, and so on: the largest weight first.

    >>> places_by_weight([0.2, 0.9, 0.5]).tolist()
    [1, 2, 0]
    """
    return np.argsort(-np.asarray(weights, np.float64), kind="stable")


@inlined
def looked_at(outcome: Any, until: int) -> int:
    """Return how many positions from the top were looked at."""
    n_positions = len(outcome)
    if until == _ALL:
        return n_positions
    last = n_positions
    for place in range(n_positions):
        if (outcome[place] == 0) == (until == _MISS):
            last = place + 1
            if until != _LAST:
                break
    return last
