"""The K items of the largest scores, where every item has a new score for every list; ties are drawn afresh."""

from __future__ import annotations

from typing import Any

from rankone.compiling.compiled import inlined, noalloc
from rankone.numerics.arrays import Floats, Ints


@noalloc
def draw_ties(ties: Floats, rng: Any) -> None:
    """Draw who wins a tie: the smaller number."""
    for item in range(len(ties)):
        ties[item] = rng.random()


@inlined
def goes_before(scores: Floats, ties: Floats, item: int, other: int) -> bool:
    """Tell whether an item is ranked before another."""
    if scores[item] != scores[other]:
        return scores[item] > scores[other]
    return ties[item] < ties[other]


@noalloc
def rank_largest(scores: Floats, ties: Floats, top: Ints) -> None:
    """Fill `top` with the items of the largest scores, the largest first."""
    room, found = len(top), 0
    for item in range(len(scores)):
        place = found
        if found == room:
            if not goes_before(scores, ties, item, top[room - 1]):
                continue
            place = room - 1
        while place > 0 and goes_before(scores, ties, item, top[place - 1]):
            top[place] = top[place - 1]
            place -= 1
        top[place] = item
        found += 1 if found < room else 0


@inlined
def show_at(places: Ints, top: Ints, shown: Any) -> None:
    """Put each item of a ranking at its position."""
    for rank in range(len(shown)):
        shown[places[rank]] = top[rank]
