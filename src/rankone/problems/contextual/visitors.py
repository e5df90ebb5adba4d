"""Visitors with features, to whom a combination is shown: the logit of the click rate is a sum of effects.

The effects are an intercept, one for each level, one for each feature of the visitor, and one for each feature with
each level: what suits one visitor need not suit another. The context of a decision is the visitor's features, each 0
or 1 with probability 1/2. Regret is against the best combination for this visitor.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind, Shape, check_combinations
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.seeds import generator
from rankone.problems.base import Problem
from rankone.problems.registry import family
from rankone.specs import number_in, whole_number
from rankone.wording.lists import listed

_MAIN = 0.4  # standard deviation of the effects of levels, and of visitors' features


class VisitorsWorld(NamedTuple):
    """The effects, and who is there now."""

    effects: Floats  # (1 + d, 1 + levels) of nothing and each feature, with nothing and with each level
    first: Ints  # (D + 1,) where the levels of each factor begin, and the end
    visitor: Floats  # (d,) features
    worth: Floats  # (1 + levels,) effects for this visitor
    best: Floats  # (1,) click rate of the best combination for this visitor


@inlined
def _rate(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))


@noalloc
def _greet(world: VisitorsWorld) -> None:
    """Sum up the effects for the visitor, and find the best combination."""
    n = len(world.worth)
    for level in range(n):
        world.worth[level] = world.effects[0, level]
        for k in range(len(world.visitor)):
            world.worth[level] += world.visitor[k] * world.effects[1 + k, level]
    logit = world.worth[0]
    for factor in range(len(world.first) - 1):
        largest = -math.inf
        for level in range(world.first[factor], world.first[factor + 1]):
            largest = max(largest, world.worth[1 + level])
        logit += largest
    world.best[0] = _rate(logit)


@inlined
def _rate_of(world: VisitorsWorld, shown: Any) -> float:
    logit = world.worth[0]
    for factor in range(len(shown)):
        logit += world.worth[1 + world.first[factor] + shown[factor]]
    return _rate(logit)


@observe.register(VisitorsWorld)
def _observe(world: VisitorsWorld, step: int, rng: Any, context: Any) -> None:
    for k in range(len(world.visitor)):
        world.visitor[k] = 1.0 if rng.random() < 0.5 else 0.0
        context[k] = world.visitor[k]
    _greet(world)


@respond.register(VisitorsWorld)
def _respond(world: VisitorsWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    outcome[0] = 1 if rng.random() < _rate_of(world, shown) else 0
    return True


@loss.register(VisitorsWorld)
def _loss(world: VisitorsWorld, shown: Any) -> float:
    return world.best[0] - _rate_of(world, shown)


class Visitors(Problem):
    """Combinations for visitors with features, clicked as a logistic regression says.

    Args:
        effects: intercept and levels, factor by factor; then for each feature its own effect and that with each level:
            ``(1 + d) * (1 + levels)`` numbers, row by row.
        sizes: how many levels each factor has.
        features: how many features a visitor has, d.
        name: what tables call it.

    >>> Visitors([-3, 0.5, 0, 0.2, 0, 0.1, 0, 1, 0, 0], (2, 2), 1, name="mine")
    <Visitors mine: 2 x 2>
    """

    kind: ClassVar[str] = "visitors"
    decision_kind: ClassVar[DecisionKind] = "combination"

    def __init__(self, effects: npt.ArrayLike, sizes: Sequence[int], features: int, name: str | None = None) -> None:
        check_combinations(sizes)
        self.sizes: Shape = tuple(whole_number("sizes", size) for size in sizes)
        self.features = self.n_context = whole_number("features", features)
        given, shape = np.array(effects, np.float64), (1 + self.n_context, 1 + sum(self.sizes))
        if given.size != math.prod(shape) or not np.isfinite(given).all():
            raise InputError(f"{math.prod(shape)} effects", given.size, "give one for no feature and one for each")
        self.effects = given.reshape(shape)
        self.name = self._named(name)

    @property
    def shape(self) -> Shape:
        """The number of levels of each factor."""
        return self.sizes

    def start(self) -> VisitorsWorld:
        """Return the world before the first visitor; until then, one without any feature."""
        n = self.effects.shape[1]
        first = starts_of(self.sizes)
        world = VisitorsWorld(self.effects.copy(), first, np.zeros(self.n_context), np.zeros(n), np.zeros(1))
        _greet(world)
        return world

    def rates(self, visitors: npt.ArrayLike | None = None) -> Floats:
        """Return the click rate of every combination for each visitor, (visitors, *sizes); by default for every kind.

        >>> Visitors([-3, 0.5, 0, 0.2, 0, 0.1, 0, 1, 0, 0], (2, 2), 1).rates().shape
        (2, 2, 2)
        """
        kinds = (np.arange(2**self.n_context)[:, None] >> np.arange(self.n_context)) & 1
        worth = np.insert(np.asarray(kinds if visitors is None else visitors), 0, 1, axis=1) @ self.effects
        logits, first = worth[:, 0].reshape(-1, *[1] * len(self.sizes)), 1
        for own, size in enumerate(self.sizes):
            part = worth[:, first : first + size]
            logits = logits + part.reshape(len(part), *(size if own == axis else 1 for axis in range(len(self.sizes))))
            first += size
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))

    def visitor(self, world: Any) -> tuple[str, Floats]:
        """Return who is there now, and the click rate of each combination."""
        own = [str(feature + 1) for feature in np.flatnonzero(world.visitor)]
        said = f"with feature{'s' * (len(own) > 1)} {listed(own)}" if own else "without features"
        return f"a visitor {said}", self.rates(world.visitor[None])[0]

    def known(self) -> dict[str, Any]:
        """Return how many features a visitor has."""
        return {"features": self.n_context}


@family("visitors", Visitors)
def visitors(n_rows: int, n_cols: int, *, d: int = 5, crossed: float = 0.3, seed: int = 0) -> Visitors:
    """Two factors, clicked about 5% of the time, and visitors with d features, some of which change what is best.

    `crossed` is the standard deviation of the effects of features together with levels; 0: who the visitor is makes no
    difference to what is best.

    >>> visitors(5, 4).n_context
    5
    """
    rng = generator(whole_number("seed", seed, least=0), "visitors", whole_number("d", d))
    effects = number_in("crossed", crossed, "[0, inf)", example=0.3) * rng.standard_normal((1 + d, 1 + n_rows + n_cols))
    effects[0] = _MAIN * rng.standard_normal(effects.shape[1])
    effects[:, 0] = _MAIN * rng.standard_normal(1 + d)
    effects[0, 0] = -3.0
    return Visitors(effects, (n_rows, n_cols), d)
