"""What all problems of lists share: items with an attraction, positions, the best list, checks of what is given.

A decision is a list of K different items of L, the first position first; what comes of it is a click or none at each
position. Worlds differ in how visitors read: one file each beside this one.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind
from rankone.numerics.arrays import Floats
from rankone.numerics.kl import bernoulli_kl
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.problems.product_input import Given, Names, level_names, probabilities
from rankone.specs import amount, number_in, whole_number

#: How often each of ten positions of a page of results is looked at, as fitted to a search log; the last is no typo.
CURVE = (1.0, 0.96, 0.76, 0.59, 0.46, 0.39, 0.33, 0.28, 0.26, 0.27)


class ListProblem(Problem):
    """Base of the problems that ask for a list. A subclass sets what belongs to its world before it calls this one.

    Args:
        attraction: ``(n_items,)`` probability that a visitor who looks at the item is attracted.
        positions: length of the list, K.
        item_names: optional texts, one per item.
        name: what tables and charts call the problem.
    """

    decision_kind: ClassVar[DecisionKind] = "list"
    reward: ClassVar[str]  # what regret counts, in words

    def __init__(self, attraction: Given, positions: int, *, item_names: Names = None, name: str | None = None) -> None:
        self.attraction = probabilities(attraction, "attraction")
        self.n_positions = self.positions = check_positions(positions, len(self.attraction))
        self.item_names = level_names(item_names, len(self.attraction), "item")
        self.name = self._named(name)

    @property
    def n_items(self) -> int:
        """Number of items, L."""
        return len(self.attraction)

    @property
    def shape(self) -> tuple[int, int]:
        """Items and positions: what a policy starts with."""
        return self.n_items, self.n_positions

    @property
    def weights(self) -> Floats:
        """``(n_positions,)`` how much a good item is worth at each position; the best item belongs to the largest."""
        return np.ones(self.n_positions)

    def best_decision(self) -> tuple[int, ...]:
        """Return the best list: the k-th best item at the position with the k-th largest weight."""
        items = np.argsort(-self.attraction, kind="stable")[: self.n_positions]
        result = np.empty(self.n_positions, np.int64)
        result[np.argsort(-self.weights, kind="stable")] = items
        return tuple(result.tolist())

    def value(self, shown: Sequence[int]) -> float:
        """Return what a list earns on average: see `reward`."""
        raise NotImplementedError

    @property
    def best_value(self) -> float:
        """What the best list earns on average."""
        return self.value(self.best_decision())

    def facts(self) -> dict[str, float]:
        """Return sizes, and the gap between the last item that belongs into the list and the first that does not."""
        ordered = np.sort(self.attraction)[::-1]
        gap = ordered[self.n_positions - 1] - ordered[self.n_positions] if self.n_items > self.n_positions else math.inf
        return {"items": self.n_items, "positions": self.n_positions, "gap": float(gap)}

    def description(self) -> dict[str, Any]:
        """Return sizes, the best list and what it earns."""
        best = self.best_decision()
        return {
            "items": self.n_items,
            "positions": self.n_positions,
            "best list": ", ".join(self.item_names[item] for item in best[:5]) + (", ..." if len(best) > 5 else ""),
            "regret counts": self.reward,
            "the best list earns": self.best_value,
        }

    def __repr__(self) -> str:
        sizes = f"{self.n_items} items, {amount(self.n_positions, 'position')}"
        return f"<{type(self).__name__} {self.name}: {sizes}, best {self.best_value:.4g}>"


class WeightedPositions(ListProblem):
    """Base of the worlds that have a probability for each position, `parameter`, which policies may be told."""

    parameter: ClassVar[str]  # the name of its attribute

    @property
    def weights(self) -> Floats:
        """``(n_positions,)`` the `parameter`: the best item belongs where it is largest."""
        result: Floats = getattr(self, self.parameter)
        return result

    def known(self) -> dict[str, tuple[float, ...]]:
        """Return the `parameter`, for the policies that have to be told it."""
        return {self.parameter: tuple(self.weights.tolist())}


def check_positions(n_positions: int, n_items: int) -> int:
    """Refuse more positions than items."""
    result = whole_number("positions", n_positions, example=1)
    if result > n_items:
        got = f"{amount(result, 'position')} for {amount(n_items, 'item')}"
        raise InputError("at most as many positions as items", got, "show each item once, in a shorter list")
    return result


def attractions(n_items: int, n_positions: int, p: float, gap: float, mean: float, seed: int) -> list[float]:
    """Return p for as many items as there are positions and `gap` less for all others; with a mean, low rates."""
    check_positions(n_positions, n_items)
    seed = whole_number("seed", seed, least=0)
    if mean:
        return low_rates(n_items, mean, seed)
    number_in("p", p, "(0, 1]", example=0.2)
    number_in("gap", gap, f"[0, {p}]", example=p / 2)
    return [p] * n_positions + [max(0.0, p - gap)] * (n_items - n_positions)


def low_rates(n_items: int, mean: float, seed: int) -> list[float]:
    """Return attractions as they are where clicks are rare: Beta(2, b) of that mean, the largest first."""
    number_in("mean", mean, "(0, 1)", example=0.06)
    drawn = generator(seed, "low rates", n_items).beta(2.0, 2.0 / mean - 2.0, n_items)
    return np.sort(drawn)[::-1].tolist()


def divergence_sum(terms: Sequence[tuple[float, float, float]]) -> float:
    """Return the sum of loss / d(p, q) over terms (loss, p, q); a term without a loss or with p = q adds nothing."""
    return math.fsum(loss / float(bernoulli_kl(p, q)) for loss, p, q in terms if loss > 0.0 and p < q)
