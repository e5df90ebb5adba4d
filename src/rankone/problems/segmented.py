"""Visitors of several segments, each with ratios of its own: a world that says which segment a visitor is of.

The context of a decision is one number, that of the visitor's segment. A policy that does not look at it plays the
mixture; regret is against the best combination of the visitor's own segment.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined
from rankone.errors import InputError
from rankone.kernels.decision import DecisionKind, Shape
from rankone.kernels.world import loss, observe, respond
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.problems.base import Problem
from rankone.problems.product_input import checked_shares


class SegmentedWorld(NamedTuple):
    """The parts of click rates in each segment, and whose visitor it is now."""

    parts: Floats  # (segments, levels of all factors)
    first: Ints  # (D,) where the levels of each factor begin
    best: Floats  # (segments,) the rate of the best combination
    upto: Floats  # (segments,) the share of visitors of this segment and those before it
    visitor: Ints  # (1,) the segment of the visitor


class Segmented(Problem):
    """A product of factors in each of several segments.

    Args:
        segments: for each segment the probabilities of each factor's levels: ``[rows, cols]``, or more factors.
        shares: how much of the traffic each segment has; None: the same.
        name: what tables call it.

    >>> Segmented([[[0.9, 0.5], [0.8, 0.4]], [[0.5, 0.9], [0.8, 0.4]]])
    <Segmented 2 segments: 2 x 2>
    """

    kind: ClassVar[str] = "segmented"
    decision_kind: ClassVar[DecisionKind] = "combination"
    n_context = 1

    def __init__(
        self,
        segments: Sequence[Sequence[Sequence[float]]],
        shares: Sequence[float] | None = None,
        name: str | None = None,
    ) -> None:
        self._sizes: Shape = tuple(len(factor) for factor in segments[0]) if len(segments) else ()
        if not self._sizes or any(tuple(map(len, each)) != self._sizes for each in segments):
            raise InputError("segments with the same numbers of levels", segments, "try [[rows, cols], [rows, cols]]")
        self._parts = np.array([np.concatenate([np.array(factor, float) for factor in each]) for each in segments])
        if not ((self._parts >= 0.0) & (self._parts <= 1.0)).all():
            raise InputError("probabilities from 0 to 1", "others", "check the levels of each segment")
        self.segments = [[np.array(factor, float).tolist() for factor in each] for each in segments]
        self.shares = checked_shares(shares, "segment", len(segments))
        self.name = name or f"{len(segments)} segments"

    @property
    def shape(self) -> Shape:
        """The number of levels of each factor."""
        return self._sizes

    def start(self) -> SegmentedWorld:
        """Return the world before the first visitor."""
        first = starts_of(self._sizes)[:-1]
        best = np.prod(np.maximum.reduceat(self._parts, first, axis=1), axis=1)
        upto = np.cumsum(self.shares) / self.shares.sum()
        return SegmentedWorld(self._parts.copy(), first, best, upto, np.zeros(1, np.int64))


@inlined
def _rate(world: SegmentedWorld, shown: Any) -> float:
    rate = 1.0
    for factor in range(len(shown)):
        rate *= world.parts[world.visitor[0], world.first[factor] + shown[factor]]
    return rate


@observe.register(SegmentedWorld)
def _observe(world: SegmentedWorld, step: int, rng: Any, context: Any) -> None:
    drawn, segment = rng.random(), 0
    while segment < len(world.upto) - 1 and drawn >= world.upto[segment]:
        segment += 1
    world.visitor[0] = segment
    context[0] = segment


@respond.register(SegmentedWorld)
def _respond(world: SegmentedWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    outcome[0] = 1 if rng.random() < _rate(world, shown) else 0
    return True


@loss.register(SegmentedWorld)
def _loss(world: SegmentedWorld, shown: Any) -> float:
    return world.best[world.visitor[0]] - _rate(world, shown)
