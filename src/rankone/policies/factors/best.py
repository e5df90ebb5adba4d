"""A yardstick: an oracle that always chooses one given combination, normally the best one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import FILLER, chance, decide, settled
from rankone.numerics.arrays import Ints
from rankone.policies.base import learns_nothing
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import ANY
from rankone.specs import Wholes, whole_number


class BestState(NamedTuple):
    """The combination to choose, and the sizes."""

    levels: Ints  # (D,) of a pair, row and column
    sizes: Ints  # (D,) how many levels each factor has


@dataclass(frozen=True)
class Best(CombinationPolicy):
    """Always chooses the same combination; a study fills in the best of its problem.

    Args:
        levels: the level of each factor, counted from 0.

    >>> Best().for_problem(2, 0).label
    'best:levels=2x0'
    """

    levels: Wholes | None = None
    name = "best"
    use_when = "a yardstick: no regret at all"
    told_best = "levels"

    def _begin(self, sizes: Ints, forbidden: Ints) -> BestState:
        levels = list(self.levels or ())
        if len(levels) != len(sizes):
            do = "try best:levels=" + "x".join("0" for _ in sizes)
            raise InputError(f"{len(sizes)} levels for the policy 'best'", f"{len(levels)}" if levels else "none", do)
        for level, size in zip(levels, sizes.tolist(), strict=True):
            whole_number("a level of the policy 'best'", level, least=0, most=size - 1)
        if ((forbidden == ANY) | (forbidden == levels)).all(axis=1).any():
            raise InputError("a combination that may be shown for the policy 'best'", levels, "name another one")
        return BestState(np.array(levels, np.int64), sizes)


@decide.register(BestState)
def _decide(state: BestState, context: Any, rng: Any, shown: Any) -> int:
    for factor in range(len(state.levels)):
        shown[factor] = state.levels[factor]
    return FILLER


@settled.register(BestState)
def _settled(state: BestState) -> bool:
    return True


learns_nothing(BestState)


@chance.register(BestState)
def _chance(state: BestState, shown: Any) -> float:
    for factor in range(len(state.levels)):
        if shown[factor] != state.levels[factor]:
            return 0.0
    return 1.0
