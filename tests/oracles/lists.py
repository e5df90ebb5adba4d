"""Obvious slow policies on lists, straight from the papers. Each is a generator: it yields a list and is sent its clicks.

They draw from `rng` in the order the rules name the draws, so that the fast kernels must show the same lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from itertools import count

from tests.oracles.policies import shuffled_first_choices, upper

Lists = Generator[tuple[int, ...], Sequence[int], None]


def looked_at(clicks: Sequence[int], until: str) -> int:
    """How many positions from the top were looked at."""
    clicked = [place for place, click in enumerate(clicks) if click]
    if until == "all" or not clicked:
        return len(clicks)
    return (clicked[0] if until == "first" else clicked[-1]) + 1


def index_lists(
    n_items: int, places: Sequence[int], rng, index: Callable[[int, int, int], float], until: str = "first"
) -> Lists:
    """The K largest ``index(clicks, looks, t)``, the r-th of them at ``places[r]``; ties to the item shown longest ago."""
    shown_at = [when * len(places) for when in shuffled_first_choices(n_items, rng)]
    looks, clicks = [0] * n_items, [0] * n_items
    for t in count():
        heights = [index(clicks[i], looks[i], t) if looks[i] else math.inf for i in range(n_items)]
        ranked = sorted(range(n_items), key=lambda i: (-heights[i], shown_at[i]))[: len(places)]
        for rank, item in enumerate(ranked):
            shown_at[item] = t * len(places) + rank
        shown = [0] * len(places)
        for rank, item in enumerate(ranked):
            shown[places[rank]] = item
        clicked = yield tuple(shown)
        for item, click in list(zip(shown, clicked, strict=True))[: looked_at(clicked, until)]:
            looks[item] += 1
            clicks[item] += click


def ucb1_index(clicks: int, looks: int, t: int) -> float:
    return clicks / looks + math.sqrt(1.5 * math.log(max(t, 1)) / looks)


def kl_index(c: float):
    def index(clicks: int, looks: int, t: int) -> float:
        level = math.log(max(t, 1))
        level += c * math.log(level) if level > 1.0 else 0.0
        return upper(clicks / looks, level / looks)

    return index


def thompson_lists(n_items: int, places: Sequence[int], rng, until: str = "first") -> Lists:
    """The K largest of draws from Beta(clicks + 1, misses + 1), one of every item."""
    looks, clicks = [0] * n_items, [0] * n_items
    while True:
        draws = [rng.beta(clicks[i] + 1, looks[i] - clicks[i] + 1) for i in range(n_items)]
        ranked = sorted(range(n_items), key=lambda i: -draws[i])[: len(places)]
        shown = [0] * len(places)
        for rank, item in enumerate(ranked):
            shown[places[rank]] = item
        clicked = yield tuple(shown)
        for item, click in list(zip(shown, clicked, strict=True))[: looked_at(clicked, until)]:
            looks[item] += 1
            clicks[item] += click
