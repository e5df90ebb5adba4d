"""The dependent click model (Guo et al. 2009; as a bandit: Katariya, Kveton, Szepesvari, Wen, "DCM Bandits", 2016):
visitors read from the top; after a click at a position they leave satisfied with a probability of that position, and
otherwise read on.

What counts is whether a visitor leaves satisfied, which nobody observes: after the last click, was the rest of the list
read or not? A position from which few leave is worth little, whatever stands there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.lists.base import Given, ListProblem, divergence_sum, low_rates, two_levels
from rankone.problems.product_input import probabilities
from rankone.problems.registry import family
from rankone.specs import number_in


class DCMWorld(NamedTuple):
    """What the visitors of a dependent click world do."""

    attraction: Floats  # (L,)
    termination: Floats  # (K,)
    best: Floats  # (1,) probability that a visitor of the best list leaves satisfied


@respond.register(DCMWorld)
def _respond(world: DCMWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate, leaves = world.attraction[shown[position]], world.termination[position]
        if rng.random() < rate:
            outcome[position] = 1
            if rng.random() < leaves:
                break
    return True


@loss.register(DCMWorld)
def _loss(world: DCMWorld, shown: Any) -> float:
    unsatisfied = 1.0
    for position in range(len(shown)):
        unsatisfied *= 1.0 - world.termination[position] * world.attraction[shown[position]]
    return world.best[0] - (1.0 - unsatisfied)


class DCM(ListProblem):
    """A list is read from the top; who clicks at a position leaves satisfied with a probability of that position.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        termination: ``(n_positions,)`` probability to leave satisfied after a click there; in (0, 1], in any order.
        item_names: optional texts, one per item.
        name: what tables and charts call the problem.

    >>> problem = DCM([0.5, 0.4, 0.1], termination=[0.2, 0.9])
    >>> problem.best_decision()  # the best item where most leave
    (1, 0)
    """

    kind: ClassVar[str] = "dcm"
    reward: ClassVar[str] = "visitors who leave satisfied"
    parameter: ClassVar[str] = "termination"

    def __init__(
        self,
        attraction: Given,
        termination: Given,
        *,
        item_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.termination = probabilities(termination, "termination", above_zero=True)
        super().__init__(attraction, len(self.termination), item_names, name)

    @property
    def weights(self) -> Floats:
        """``(n_positions,)`` the termination: the best item belongs where most leave satisfied."""
        return self.termination

    def start(self) -> DCMWorld:
        """Return the world before the first decision."""
        return DCMWorld(self.attraction, self.termination, np.array([self.best_value]))

    def known(self) -> dict[str, tuple[float, ...]]:
        """Return the termination, for the policies that go by its order."""
        return {"termination": tuple(self.termination.tolist())}

    def value(self, shown: Sequence[int]) -> float:
        """Return the probability that a visitor of a list leaves satisfied."""
        pairs = zip(self.termination.tolist(), shown, strict=True)
        return 1.0 - math.prod(1.0 - leaves * float(self.attraction[item]) for leaves, item in pairs)

    def earned(self, clicks: Ints) -> Floats:
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


def _leaving(leave: float, n_positions: int) -> list[float]:
    return [number_in("leave", leave, "(0, 1]", example=0.5)] * n_positions


@family("dcm", DCM)
def dcm(n_items: int, n_positions: int, *, p: float = 0.2, gap: float = 0.15, leave: float = 0.5) -> DCM:
    """A dependent click list: as many items as positions attract with p, others with p - gap; some leave after a click.

    >>> dcm(4, 2, leave=0.8).termination.tolist()
    [0.8, 0.8]
    """
    return DCM(two_levels(n_items, n_positions, p, gap), _leaving(leave, n_positions))


@family("dcm-low", DCM)
def dcm_low(n_items: int, n_positions: int, *, mean: float = 0.06, leave: float = 0.6, seed: int = 0) -> DCM:
    """A dependent click list of items that few people click: attractions from Beta(2, b) with this mean.

    >>> dcm_low(10, 3).n_positions
    3
    """
    return DCM(low_rates(n_items, n_positions, mean, seed), _leaving(leave, n_positions))
