"""The simplified dynamic Bayesian network (Chapelle, Zhang 2009): visitors read from the top; after a click on an item
they leave satisfied with a probability of that item, and otherwise read on.

What counts is whether a visitor leaves satisfied, which nobody observes. The best list has the K items that satisfy
most often (attraction times satisfaction), which need not be those that are clicked most, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.problems.lists.base import AlikePositions, Given
from rankone.problems.lists.cascade import missed_at_random
from rankone.problems.product_input import probabilities


class SDBNWorld(NamedTuple):
    """What the visitors of such a world do."""

    attraction: Floats  # (L,)
    satisfaction: Floats  # (L,)
    best: Floats  # (1,) probability that a visitor of the best list leaves satisfied


@respond.register(SDBNWorld)
def _respond(world: SDBNWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate, leaves = world.attraction[shown[position]], world.satisfaction[shown[position]]
        if rng.random() < rate:
            outcome[position] = 1
            if rng.random() < leaves:
                break
    return True


@loss.register(SDBNWorld)
def _loss(world: SDBNWorld, shown: Any) -> float:
    unsatisfied = 1.0
    for position in range(len(shown)):
        unsatisfied *= 1.0 - world.satisfaction[shown[position]] * world.attraction[shown[position]]
    return world.best[0] - (1.0 - unsatisfied)


class SDBN(AlikePositions):
    """A list is read from the top; who clicks an item leaves satisfied with a probability of that item.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        satisfaction: ``(n_items,)`` probability that who clicks the item is satisfied.
        positions: length of the list, K.
        item_names: optional texts, one per item.
        name: what tables and charts call the problem.

    >>> SDBN([0.5, 0.4, 0.1], [0.1, 0.9, 0.9], positions=2).best_decision()
    (1, 2)
    """

    kind: ClassVar[str] = "sdbn"
    reward: ClassVar[str] = "visitors who leave satisfied"
    parameter: ClassVar[str] = "satisfaction"

    def __init__(
        self,
        attraction: Given,
        satisfaction: Given,
        positions: int,
        *,
        item_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.satisfaction = probabilities(satisfaction, "satisfaction")
        n_items = len(np.atleast_1d(attraction))
        if len(self.satisfaction) != n_items:
            got = len(self.satisfaction)
            raise InputError(f"{n_items} satisfactions, one per item", got, "give both of every item")
        super().__init__(attraction, positions, item_names=item_names, name=name)

    def best_decision(self) -> tuple[int, ...]:
        """Return the items that satisfy most often."""
        order = np.argsort(-self.attraction * self.satisfaction, kind="stable")
        return tuple(order[: self.n_positions].tolist())

    def start(self) -> SDBNWorld:
        """Return the world before the first decision."""
        return SDBNWorld(self.attraction, self.satisfaction, np.array([self.best_value]))

    def value(self, shown: Sequence[int]) -> float:
        """Return the probability that a visitor of a list leaves satisfied."""
        return 1.0 - math.prod(1.0 - float(self.satisfaction[item] * self.attraction[item]) for item in shown)

    def loss_at_random(self) -> float:
        """Return how many visitors fewer a list drawn at random satisfies than the best, on average."""
        missed = missed_at_random(1.0 - self.satisfaction * self.attraction, self.n_positions)
        return self.best_value - (1.0 - missed)
