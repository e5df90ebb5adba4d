"""Lists that are read from the top until something happens; what stands below was not looked at.

* The cascade model (Craswell et al. 2008; as a bandit: Kveton, Szepesvari, Wen, Ashkan, "Cascading Bandits", 2015):
  visitors click the first item that attracts them, and leave. What counts is whether anything is clicked, so the order
  inside a list makes no difference to the reward, but it does to what is learned.
* The conjunctive cascade (Kveton, Wen, Ashkan, Szepesvari, "Combinatorial Cascading Bandits", NIPS 2015): items are
  tried up to the first that fails. What counts is whether the whole list works, like a route whose links all have to be
  up, or a form whose steps all have to be taken.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.kernels.world import loss, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.lists.base import ListProblem, attractions, divergence_sum
from rankone.problems.registry import family


class CascadeWorld(NamedTuple):
    """What the visitors of a cascade do."""

    attraction: Floats  # (L,)
    best: Floats  # (1,) probability that the best list is clicked


@respond.register(CascadeWorld)
def _respond(world: CascadeWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate = world.attraction[shown[position]]
        if rng.random() < rate:
            outcome[position] = 1
            break
    return True


@loss.register(CascadeWorld)
def _loss(world: CascadeWorld, shown: Any) -> float:
    missed = 1.0
    for position in range(len(shown)):
        missed *= 1.0 - world.attraction[shown[position]]
    return world.best[0] - (1.0 - missed)


class Cascade(ListProblem):
    """A list is read from the top, up to the first click.

    Args:
        attraction: ``(n_items,)`` probability that an item is clicked when it is looked at.
        positions: length of the list, K.
        item_names, name: see `ListProblem`.

    >>> problem = Cascade([0.5, 0.4, 0.1], positions=2)
    >>> problem.best_decision(), round(problem.best_value, 3)
    ((0, 1), 0.7)
    """

    kind: ClassVar[str] = "cascade"
    reward: ClassVar[str] = "lists clicked at all"

    def start(self) -> CascadeWorld:
        """Return the world before the first decision."""
        return CascadeWorld(self.attraction, np.array([self.best_value]))

    def value(self, shown: Sequence[int]) -> float:
        """Return the probability that a list is clicked."""
        return 1.0 - math.prod(1.0 - float(self.attraction[item]) for item in shown)

    def loss_at_random(self) -> float:
        """Return how much less a list drawn at random is clicked than the best, on average."""
        return self.best_value - (1.0 - missed_at_random(1.0 - self.attraction, self.n_positions))

    def lower_bound_constant(self) -> float:
        """Return the constant of Kveton et al. 2015, Theorem 4, for any attractions: an item that does not belong into
        the list takes the place of the last that does, and only at the top is it always looked at."""
        ordered = np.sort(self.attraction)[::-1].tolist()
        last, rest = ordered[self.n_positions - 1], ordered[self.n_positions :]
        unclicked = math.prod(1.0 - rate for rate in ordered[: self.n_positions - 1])
        return divergence_sum([((last - rate) * unclicked, rate, last) for rate in rest])


class ConjunctiveWorld(NamedTuple):
    """What happens to lists that have to work as a whole."""

    attraction: Floats  # (L,)
    best: Floats  # (1,) probability that the best list works


@respond.register(ConjunctiveWorld)
def _try(world: ConjunctiveWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    for position in range(len(outcome)):
        outcome[position] = 0
    for position in range(len(shown)):
        rate = world.attraction[shown[position]]
        if rng.random() >= rate:
            break
        outcome[position] = 1
    return True


@loss.register(ConjunctiveWorld)
def _loss_of_all(world: ConjunctiveWorld, shown: Any) -> float:
    works = 1.0
    for position in range(len(shown)):
        works *= world.attraction[shown[position]]
    return world.best[0] - works


class Conjunctive(ListProblem):
    """A list works if each of its items does; items are tried up to the first that fails.

    Args:
        attraction: ``(n_items,)`` probability that an item works.
        positions: length of the list, K.
        item_names, name: see `ListProblem`.

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

    def earned(self, clicks: Ints, shown: Ints) -> Floats:
        """Return whether each of these lists worked."""
        return clicks.min(axis=1).astype(np.float64)

    def loss_at_random(self) -> float:
        """Return how much less often a list drawn at random works than the best, on average."""
        return self.best_value - missed_at_random(self.attraction, self.n_positions)


def missed_at_random(factors: Floats, n_positions: int) -> float:
    """Return the mean product of the factors of n_positions different items: a ratio of elementary symmetric sums."""
    sums = np.zeros(n_positions + 1)  # of products of k different factors, as means: no binomial overflows
    sums[0] = 1.0
    for count, factor in enumerate(factors, 1):
        for k in range(min(count, n_positions), 0, -1):
            sums[k] += (factor * sums[k - 1] - sums[k]) * k / count
    return float(sums[n_positions])


@family("cascade", Cascade)
def cascade(
    n_items: int, n_positions: int, *, p: float = 0.2, gap: float = 0.15, mean: float = 0.0, seed: int = 0
) -> Cascade:
    """A cascade: as many items as positions attract with p, all others with p - gap; or, with a mean, all seldom.

    >>> cascade(4, 2).attraction.round(2).tolist()
    [0.2, 0.2, 0.05, 0.05]
    """
    return Cascade(attractions(n_items, n_positions, p, gap, mean, seed), n_positions)


@family("conjunctive", Conjunctive)
def conjunctive(n_items: int, n_positions: int, *, p: float = 0.95, gap: float = 0.15) -> Conjunctive:
    """A list that works only as a whole: as many items as positions work with probability p, all others with p - gap.

    >>> conjunctive(4, 2).attraction.round(2).tolist()
    [0.95, 0.95, 0.8, 0.8]
    """
    return Conjunctive(attractions(n_items, n_positions, p, gap, mean=0.0, seed=0), n_positions)
