"""The position-based model (Richardson et al. 2007; as a bandit: Lagree, Vernade, Cappe 2016): an item at a position is
clicked if the position is looked at and the item attracts, each for itself and independently of the rest of the list.

It is the rank-1 model of this package, shown K cells at a time: items are the rows, positions the columns.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.problems.lists.base import CURVE, WeightedPositions, attractions, divergence_sum
from rankone.problems.product_input import Given, Names, probabilities
from rankone.problems.registry import family


class PBMWorld(NamedTuple):
    """What the visitors of a position-based world do."""

    attraction: Floats  # (L,)
    examination: Floats  # (K,)
    best: Floats  # (1,) expected clicks of the best list


@respond.register(PBMWorld)
def _respond(world: PBMWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(shown)):  # a number for each position: clicks at two positions are independent
        rate = world.examination[position] * world.attraction[shown[position]]
        outcome[position] = 1 if rng.random() < rate else 0
    return True


@loss.register(PBMWorld)
def _loss(world: PBMWorld, shown: Any) -> float:
    clicks = 0.0
    for position in range(len(shown)):
        clicks += world.examination[position] * world.attraction[shown[position]]
    return world.best[0] - clicks


class PBM(WeightedPositions):
    """Each position is looked at with a probability of its own, whatever else is in the list.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        examination: ``(n_positions,)`` probability that a position is looked at; in (0, 1], in any order.
        item_names, name: see `ListProblem`.

    >>> problem = PBM([0.1, 0.4, 0.5], examination=[0.5, 1.0])
    >>> problem.best_decision(), round(problem.best_value, 3)
    ((1, 2), 0.7)
    """

    kind: ClassVar[str] = "pbm-list"
    reward: ClassVar[str] = "clicks"
    parameter: ClassVar[str] = "examination"

    def __init__(
        self, attraction: Given, examination: Given, *, item_names: Names = None, name: str | None = None
    ) -> None:
        self.examination = probabilities(examination, "examination", above_zero=True)
        super().__init__(attraction, len(self.examination), item_names=item_names, name=name)

    def start(self) -> PBMWorld:
        """Return the world before the first decision."""
        return PBMWorld(self.attraction, self.examination, np.array([self.best_value]))

    def value(self, shown: Sequence[int]) -> float:
        """Return the expected number of clicks on a list."""
        clicks = 0.0
        for index, item in enumerate(shown):
            clicks += float(self.examination[index] * self.attraction[item])
        return clicks

    def loss_at_random(self) -> float:
        """Return how many clicks fewer a list drawn at random has than the best, on average."""
        return self.best_value - float(self.attraction.mean() * self.examination.sum())

    def lower_bound_constant(self) -> float:
        """Return the constant of Lagree et al. 2016, Theorem 6: an item outside the list has to be tried at the
        position where that costs least for what it tells. It holds for policies that know the examination."""
        items = np.argsort(-self.attraction, kind="stable").tolist()
        top, outside = items[: self.n_positions], items[self.n_positions :]
        exams = np.sort(self.examination)[::-1]

        def clicks(order: Sequence[int]) -> float:
            return float(sum(exam * self.attraction[item] for exam, item in zip(exams, order, strict=True)))

        total, last = 0.0, float(self.attraction[top[-1]])
        for item in outside:
            rate, costs = float(self.attraction[item]), []
            for index, exam in enumerate(exams.tolist()):
                lost = clicks(top) - clicks([*top[:index], item, *top[index:-1]])
                costs.append(divergence_sum([(lost, exam * rate, exam * last)]))
            total += min(costs)
        return total


def examined(n_positions: int) -> list[float]:
    """Return how often each position is looked at: the curve of a search page; beyond it, less and less."""
    return [
        CURVE[position] if position < len(CURVE) else CURVE[-1] * len(CURVE) / (position + 1)
        for position in range(n_positions)
    ]


@family("pbm-list", PBM)
def pbm_list(
    n_items: int, n_positions: int, *, p: float = 0.2, gap: float = 0.15, mean: float = 0.0, seed: int = 0
) -> PBM:
    """A position-based list, examination 1, .96, ...: items attract with p, or p - gap; or, with a mean, all seldom.

    >>> pbm_list(10, 5).examination.tolist()
    [1.0, 0.96, 0.76, 0.59, 0.46]
    """
    return PBM(attractions(n_items, n_positions, p, gap, mean, seed), examined(n_positions))
