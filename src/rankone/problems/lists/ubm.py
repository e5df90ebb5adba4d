"""The user browsing model (Dupret, Piwowarski 2008): how likely a position is looked at depends on the position and on
where the last click above it was.

What counts is the number of clicks. No formula gives the best list: with few lists to choose from all are tried, with
many the items are exchanged one by one, from the most attractive on, as long as that helps.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats
from rankone.problems.lists.base import ListProblem
from rankone.problems.product_input import Given, probabilities

_MOST_LISTS = 20_000  # that are all tried


class UBMWorld(NamedTuple):
    """What the visitors of such a world do."""

    attraction: Floats  # (L,)
    examination: Floats  # (K, K + 1) of each position, by the position of the last click above; 0: none
    best: Floats  # (1,) expected clicks of the best list
    latest: Floats  # (K + 1,) scratch space


@respond.register(UBMWorld)
def _respond(world: UBMWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    latest = 0
    for position in range(len(shown)):
        rate = world.attraction[shown[position]] * world.examination[position, latest]
        outcome[position] = 1 if rng.random() < rate else 0
        if outcome[position]:
            latest = position + 1
    return True


@noalloc
def _clicks(attraction: Any, examination: Any, latest: Any, shown: Any) -> float:
    """Return the expected clicks on a list: the distribution of the last click is carried down."""
    clicks = 0.0
    for position in range(len(latest)):
        latest[position] = 0.0
    latest[0] = 1.0
    for position in range(len(shown)):
        here = 0.0
        for before in range(position + 1):
            click = latest[before] * attraction[shown[position]] * examination[position, before]
            latest[before] -= click
            here += click
        latest[position + 1] = here
        clicks += here
    return clicks


@loss.register(UBMWorld)
def _loss(world: UBMWorld, shown: Any) -> float:
    return world.best[0] - _clicks(world.attraction, world.examination, world.latest, shown)


class UBM(ListProblem):
    """A position is looked at with a probability that depends on where the last click above it was.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        examination: ``(n_positions, n_positions + 1)`` probability that a position is looked at, by the position of
            the last click above it, counted from 1; 0: no click above. Clicks cannot be below: what stands there is
            not used.
        item_names, name: see `ListProblem`.

    >>> UBM([0.5, 0.4, 0.1], [[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]]).best_decision()
    (0, 1)
    """

    kind: ClassVar[str] = "ubm"
    reward: ClassVar[str] = "clicks"

    def __init__(
        self, attraction: Given, examination: Any, *, item_names: Sequence[str] | None = None, name: str | None = None
    ) -> None:
        self.examination = probabilities(examination, "examination", dimensions=2)
        rows, columns = self.examination.shape
        if columns != rows + 1:
            do = "pass a row per position, with a number for no click above and one for each position"
            raise InputError("examination of n_positions rows and n_positions + 1 columns", f"{rows} x {columns}", do)
        self._best: tuple[int, ...] | None = None
        super().__init__(attraction, len(self.examination), item_names=item_names, name=name)

    def best_decision(self) -> tuple[int, ...]:
        """Return the best list, or the best that exchanging items finds."""
        if self._best is None:
            self._best = self._search()
        return self._best

    def _search(self) -> tuple[int, ...]:
        n_items, n_positions = len(self.attraction), self.n_positions
        if math.perm(n_items, n_positions) <= _MOST_LISTS:
            return max(itertools.permutations(range(n_items), n_positions), key=self.value)
        order = np.argsort(-self.attraction, kind="stable").tolist()
        helped = True
        while helped:
            helped = False
            for one in range(n_positions):
                for other in range(one + 1, min(n_items, 2 * n_positions)):
                    changed = order.copy()
                    changed[one], changed[other] = changed[other], changed[one]
                    if self.value(changed[:n_positions]) > self.value(order[:n_positions]) + 1e-12:
                        order, helped = changed, True
        return tuple(order[:n_positions])

    def start(self) -> UBMWorld:
        """Return the world before the first decision."""
        best = np.array([self.best_value])
        return UBMWorld(self.attraction, self.examination, best, np.zeros(self.n_positions + 1))

    def value(self, shown: Sequence[int]) -> float:
        """Return the expected number of clicks on a list."""
        latest, clicks = np.zeros(self.n_positions + 1), 0.0
        latest[0] = 1.0
        for index, item in enumerate(shown):
            click = latest[: index + 1] * self.attraction[item] * self.examination[index, : index + 1]
            latest[: index + 1] -= click
            latest[index + 1] = click.sum()
            clicks += float(latest[index + 1])
        return clicks
