"""The conjunctive cascade (Kveton, Wen, Ashkan, Szepesvari, "Combinatorial Cascading Bandits", NIPS 2015): a list
works only if every item of it does, like a route whose links all have to be up, or a form whose steps all have to be
taken.

Items are tried from the first position on, up to the first that fails; what stands below was not tried. What counts is
whether the whole list works.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.lists.base import AlikePositions, two_levels
from rankone.problems.lists.cascade import missed_at_random
from rankone.problems.registry import family


class ConjunctiveWorld(NamedTuple):
    """What happens to lists that have to work as a whole."""

    attraction: Floats  # (L,)
    best: Floats  # (1,) probability that the best list works


@respond.register(ConjunctiveWorld)
def _respond(world: ConjunctiveWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for place in range(len(outcome)):
        outcome[place] = 0
    for place in range(len(shown)):
        rate = world.attraction[shown[place]]
        if rng.random() >= rate:
            break
        outcome[place] = 1
    return True


@loss.register(ConjunctiveWorld)
def _loss(world: ConjunctiveWorld, shown: Any) -> float:
    works = 1.0
    for place in range(len(shown)):
        works *= world.attraction[shown[place]]
    return world.best[0] - works


class Conjunctive(AlikePositions):
    """A list works if each of its items does; items are tried up to the first that fails.

    Args:
        attraction: ``(n_items,)`` probability that an item works.
        positions: length of the list, K.
        item_names: optional texts, one per item.
        name: what tables and charts call the problem.

    >>> problem = Conjunctive([0.9, 0.8, 0.5], positions=2)
    >>> problem.best_decision(), round(problem.best_value, 3)
    ((0, 1), 0.72)
    """

    kind: ClassVar[str] = "conjunctive"
    reward: ClassVar[str] = "lists that work"

    def start(self) -> ConjunctiveWorld:
        """Return the world before the first decision."""
        return ConjunctiveWorld(self.attraction, np.array([self.best_value]))

    def value(self, shown: Sequence[int]) -> float:
        """Return the probability that a list works."""
        return math.prod(float(self.attraction[item]) for item in shown)

    def earned(self, clicks: Ints) -> Floats:
        """Return whether each of these lists worked."""
        return clicks.min(axis=1).astype(np.float64)

    def loss_at_random(self) -> float:
        """Return how much less often a list drawn at random works than the best, on average."""
        return self.best_value - missed_at_random(self.attraction, self.n_positions)


@family("conjunctive", Conjunctive)
def conjunctive(n_items: int, n_positions: int, *, p: float = 0.95, gap: float = 0.15) -> Conjunctive:
    """A list that works only as a whole: as many items as positions work with probability p, all others with p - gap.

    >>> conjunctive(4, 2).attraction.round(2).tolist()
    [0.95, 0.95, 0.8, 0.8]
    """
    return Conjunctive(two_levels(n_items, n_positions, p, gap), n_positions)
