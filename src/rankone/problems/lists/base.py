"""What all problems of lists share: items with an attraction, positions, the best list, checks of what is given.

A decision is a list of K different items of L, the first position first; what comes of it is a click or none at each
position. Worlds differ in how visitors read: one file each beside this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError
from rankone.kernels.decision import Plays
from rankone.problems.base import Problem
from rankone.specs import amount, whole_number

Vector = npt.NDArray[np.float64]
Given = Sequence[float] | Vector

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

    asks_for: ClassVar[Plays] = "list"
    reward: ClassVar[str]  # what regret counts, in words

    def __init__(self, attraction: Given, positions: int, item_names: Sequence[str] | None, name: str | None) -> None:
        self.attraction = probabilities(attraction, "attraction")
        self.n_positions = check_positions(positions, len(self.attraction))
        self.item_names = _item_names(item_names, len(self.attraction))
        if not isinstance(name, str | None):
            raise InputError("the name as a text", name, "try name='front page'")
        self.name = name if name is not None else f"{self.kind}:{self.n_items}x{self.n_positions}:{self.digest[:6]}"

    @property
    def n_items(self) -> int:
        """Number of items, L."""
        return len(self.attraction)

    @property
    def shape(self) -> tuple[int, int]:
        """Items and positions: what a policy starts with."""
        return self.n_items, self.n_positions

    @property
    def weights(self) -> Vector:
        """``(n_positions,)`` how much a good item is worth at each position; the best item belongs to the largest."""
        return np.ones(self.n_positions)

    def best_decision(self) -> tuple[int, ...]:
        """Return the best list: the k-th best item at the position with the k-th largest weight."""
        items = np.argsort(-self.attraction, kind="stable")[: self.n_positions]
        places = np.argsort(-self.weights, kind="stable")
        found = np.empty(self.n_positions, np.int64)
        found[places] = items
        return tuple(found.tolist())

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values that the class turns back into the same problem."""
        return {"attraction": self.attraction.tolist(), "item_names": self.item_names, "name": self.name}

    def __repr__(self) -> str:
        sizes = f"{self.n_items} items, {amount(self.n_positions, 'position')}"
        return f"<{type(self).__name__} {self.name}: {sizes}, best {self.best_value:.4g}>"


class AlikePositions(ListProblem):
    """Base of the worlds whose positions have nothing of their own: how many there are is all there is to say."""

    def __init__(
        self,
        attraction: Given,
        positions: int,
        *,
        item_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(attraction, positions, item_names, name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that the class turns back into the same problem."""
        return super().to_dict() | {"positions": self.n_positions}


def probabilities(values: Given, what: str, above_zero: bool = False) -> Vector:
    """Return probabilities as an array that cannot be changed, or say which of them is none."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} as a list of numbers", values, f"try {what}=[0.9, 0.5]") from None
    if vector.ndim != 1 or len(vector) == 0:
        got = f"shape {vector.shape}"
        raise InputError(f"{what} as a list of at least one number", got, f"try {what}=[0.9, 0.5]")
    wrong = ~((vector >= 0.0) & (vector <= 1.0)) | (vector <= 0.0 if above_zero else False)  # NaN is wrong too
    if wrong.any():
        place = int(np.argmax(wrong))
        allowed = "(0, 1]" if above_zero else "[0, 1]"
        do = "leave out what nobody ever sees" if above_zero and vector[place] == 0.0 else "divide counts by totals"
        raise InputError(f"probabilities in {allowed} as {what}", f"{vector[place]} at index {place}", do)
    vector.flags.writeable = False
    return vector


def check_positions(n_positions: int, n_items: int) -> int:
    """Refuse more positions than items."""
    found = whole_number("positions", n_positions, example=1)
    if found > n_items:
        got = f"{amount(found, 'position')} for {amount(n_items, 'item')}"
        raise InputError("at most as many positions as items", got, "show each item once, in a shorter list")
    return found


def _item_names(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"item {index + 1}" for index in range(count)]
    found = [] if isinstance(names, str) else list(names)
    if len(found) != count or not all(isinstance(name, str) for name in found):
        raise InputError(f"{count} item_names, a text each", names, "leave item_names out, or name every item")
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise InputError("item_names that differ", f"'{twice[0]}' more than once", "give each item a name of its own")
    return found


def two_levels(n_items: int, n_positions: int, p: float, gap: float) -> list[float]:
    """Return attractions: p for as many items as there are positions, gap less for all others."""
    check_positions(n_positions, n_items)
    if not 0.0 < p <= 1.0:  # written so that NaN is wrong too
        raise InputError("p in (0, 1]", p, "try p=0.2")
    if not 0.0 <= gap <= p:
        raise InputError(f"a gap in [0, {p:g}], as p is {p:g}", gap, "pass a gap that leaves p - gap at least 0")
    return [p] * n_positions + [max(0.0, p - gap)] * (n_items - n_positions)


def low_rates(n_items: int, n_positions: int, mean: float, seed: int) -> list[float]:
    """Return attractions as they are where clicks are rare: Beta(2, b) of that mean, the largest first."""
    from rankone.numerics.seeds import generator

    check_positions(n_positions, n_items)
    if not 0.0 < mean < 1.0:
        raise InputError("the mean attraction in (0, 1)", mean, "try mean=0.06")
    drawn = generator(whole_number("seed", seed, least=0), "low rates", n_items).beta(2.0, 2.0 / mean - 2.0, n_items)
    return np.sort(drawn)[::-1].tolist()


def inserted(order: Sequence[int], newcomer: int, place: int, kept: int) -> list[int]:
    """Return the first `kept` of `order` after the newcomer stepped in at a place; who stood there moves down.

    >>> inserted([0, 1, 2], newcomer=7, place=1, kept=3)
    [0, 7, 1]
    """
    return [*order[:place], newcomer, *order[place:]][:kept]


def divergence_sum(terms: Sequence[tuple[float, float, float]]) -> float:
    """Return the sum of loss / d(p, q) over terms (loss, p, q); a term without a loss or with p = q adds nothing."""
    from rankone.numerics.kl import bernoulli_kl

    divergence: Callable[[float, float], float] = bernoulli_kl
    return math.fsum(loss / divergence(p, q) for loss, p, q in terms if loss > 0.0 and p < q)
