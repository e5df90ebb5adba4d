"""Visitors read from the top; after a click they leave satisfied with some probability, and otherwise read on.

* The dependent click model (Guo et al. 2009; as a bandit: Katariya, Kveton, Szepesvari, Wen, "DCM Bandits", 2016): a
  probability of the position. One from which few leave is worth little, whatever stands there.
* The simplified dynamic Bayesian network (Chapelle, Zhang 2009): a probability of the item. The best list has the K
  items that satisfy most often (attraction times satisfaction), which need not be those that are clicked most.

What counts is whether a visitor leaves satisfied, which nobody observes: after the last click, was the rest of the list
read or not?
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined
from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.lists.base import ListProblem, WeightedPositions, attractions, divergence_sum
from rankone.problems.lists.cascade import missed_at_random
from rankone.problems.product_input import Given, Names, probabilities
from rankone.problems.registry import family
from rankone.specs import number_in


class DCMWorld(NamedTuple):
    """What the visitors of a dependent click world do."""

    attraction: Floats  # (L,)
    termination: Floats  # (K,)
    best: Floats  # (1,) probability that a visitor of the best list leaves satisfied


@inlined
def _read(attraction: Any, leaving: Any, by_item: bool, shown: Any, outcome: Any, rng: Any) -> bool:
    """Let a visitor read a list, and leave after a click with the probability of the item, or of the position."""
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate, leaves = attraction[shown[position]], leaving[shown[position] if by_item else position]
        if rng.random() < rate:
            outcome[position] = 1
            if rng.random() < leaves:
                break
    return True


@respond.register(DCMWorld)
def _respond(world: DCMWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    return _read(world.attraction, world.termination, False, shown, outcome, rng)


@loss.register(DCMWorld)
def _loss(world: DCMWorld, shown: Any) -> float:
    unsatisfied = 1.0
    for position in range(len(shown)):
        unsatisfied *= 1.0 - world.termination[position] * world.attraction[shown[position]]
    return world.best[0] - (1.0 - unsatisfied)


class DCM(WeightedPositions):
    """A list is read from the top; who clicks at a position leaves satisfied with a probability of that position.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        termination: ``(n_positions,)`` probability to leave satisfied after a click there; in (0, 1], in any order.
        item_names, name: see `ListProblem`.

    >>> problem = DCM([0.5, 0.4, 0.1], termination=[0.2, 0.9])
    >>> problem.best_decision()  # the best item where most leave
    (1, 0)
    """

    kind: ClassVar[str] = "dcm"
    reward: ClassVar[str] = "visitors who leave satisfied"
    parameter: ClassVar[str] = "termination"

    def __init__(
        self, attraction: Given, termination: Given, *, item_names: Names = None, name: str | None = None
    ) -> None:
        self.termination = probabilities(termination, "termination", above_zero=True)
        super().__init__(attraction, len(self.termination), item_names=item_names, name=name)

    def start(self) -> DCMWorld:
        """Return the world before the first decision."""
        return DCMWorld(self.attraction, self.termination, np.array([self.best_value]))

    def value(self, shown: Sequence[int]) -> float:
        """Return the probability that a visitor of a list leaves satisfied."""
        pairs = zip(self.termination.tolist(), shown, strict=True)
        return 1.0 - math.prod(1.0 - leaves * float(self.attraction[item]) for leaves, item in pairs)

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return how many of these visitors are satisfied, on average: each click is the last with its probability."""
        return clicks @ self.termination

    def lower_bound_constant(self) -> float | None:
        """Return the constant of a bound like that of Katariya et al. 2016, section 5.2, for one termination at all
        positions: trying an item at the top always tells, and costs what the last item of the list earns more."""
        leaves = float(self.termination[0])
        if (self.termination != leaves).any():
            return None
        ordered = np.sort(self.attraction)[::-1].tolist()
        last, rest = ordered[self.n_positions - 1], ordered[self.n_positions :]
        unsatisfied = math.prod(1.0 - leaves * rate for rate in ordered[: self.n_positions - 1])
        return divergence_sum([(leaves * (last - rate) * unsatisfied, rate, last) for rate in rest])


class SDBNWorld(NamedTuple):
    """What the visitors of such a world do."""

    attraction: Floats  # (L,)
    satisfaction: Floats  # (L,)
    best: Floats  # (1,) probability that a visitor of the best list leaves satisfied


@respond.register(SDBNWorld)
def _respond_by_item(world: SDBNWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    return _read(world.attraction, world.satisfaction, True, shown, outcome, rng)


@loss.register(SDBNWorld)
def _loss_by_item(world: SDBNWorld, shown: Any) -> float:
    unsatisfied = 1.0
    for position in range(len(shown)):
        unsatisfied *= 1.0 - world.satisfaction[shown[position]] * world.attraction[shown[position]]
    return world.best[0] - (1.0 - unsatisfied)


class SDBN(ListProblem):
    """A list is read from the top; who clicks an item leaves satisfied with a probability of that item.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        satisfaction: ``(n_items,)`` probability that who clicks the item is satisfied.
        positions: length of the list, K.
        item_names, name: see `ListProblem`.

    >>> SDBN([0.5, 0.4, 0.1], [0.1, 0.9, 0.9], positions=2).best_decision()
    (1, 2)
    """

    kind: ClassVar[str] = "sdbn"
    reward: ClassVar[str] = "visitors who leave satisfied"

    def __init__(
        self,
        attraction: Given,
        satisfaction: Given,
        positions: int,
        *,
        item_names: Names = None,
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

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return how many of these visitors are satisfied, on average: by each click with its item's probability."""
        result: Floats = (clicks * self.satisfaction[shown]).sum(axis=1)
        return result

    def loss_at_random(self) -> float:
        """Return how many visitors fewer a list drawn at random satisfies than the best, on average."""
        missed = missed_at_random(1.0 - self.satisfaction * self.attraction, self.n_positions)
        return self.best_value - (1.0 - missed)


@family("dcm", DCM)
def dcm(
    n_items: int,
    n_positions: int,
    *,
    p: float = 0.2,
    gap: float = 0.15,
    leave: float = 0.5,
    mean: float = 0.0,
    seed: int = 0,
) -> DCM:
    """A dependent click list: items attract with p, or p - gap (with a mean, all seldom); some leave after a click.

    >>> dcm(4, 2, leave=0.8).termination.tolist()
    [0.8, 0.8]
    """
    number_in("leave", leave, "(0, 1]", example=0.5)
    return DCM(attractions(n_items, n_positions, p, gap, mean, seed), [leave] * n_positions)
