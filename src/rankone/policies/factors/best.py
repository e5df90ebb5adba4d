"""A yardstick: an oracle that always chooses one given combination, normally the best one."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

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


@dataclasses.dataclass(frozen=True)
class Best(CombinationPolicy):
    """Always chooses the pair (row, col), or the same combination; a study fills in the best of its problem.

    Args:
        row: the row, counted from 0.
        col: the column, counted from 0.
        levels: of other than two factors, the level of each, counted from 0.

    >>> Best().for_problem(best_row=2, best_col=0).label, Best().for_problem(2, 0, 1).label
    ('best:row=2,col=0', 'best:levels=2x0x1')
    """

    row: int | None = None
    col: int | None = None
    levels: Wholes | None = None
    name: ClassVar[str] = "best"
    use_when: ClassVar[str] = "a yardstick: no regret at all"

    def for_problem(self, *best: int, **named: int) -> Self:
        """Fill in the pair or the combination where none is given."""
        found = (*best, *(named[name] for name in ("best_row", "best_col") if name in named))
        if len(found) != 2:
            return dataclasses.replace(self, levels=tuple(found)) if self.levels is None else self
        row = found[0] if self.row is None else self.row
        col = found[1] if self.col is None else self.col
        return dataclasses.replace(self, row=row, col=col)

    def _begin(self, sizes: Ints, forbidden: Ints) -> BestState:
        if len(sizes) == 2 and self.levels is None:
            levels = [self._checked(side, sizes) for side in ("row", "col")]
        else:
            levels = list(self.levels or ())
            if len(levels) != len(sizes):
                got = f"{len(levels)}" if levels else "none"
                do = "try best:levels=" + "x".join("0" for _ in sizes)
                raise InputError(f"{len(sizes)} levels for the policy 'best'", got, do)
            for level, size in zip(levels, sizes.tolist(), strict=True):
                whole_number("a level of the policy 'best'", level, least=0, most=size - 1)
        if ((forbidden == ANY) | (forbidden == levels)).all(axis=1).any():
            raise InputError("a combination that may be shown for the policy 'best'", levels, "name another one")
        return BestState(np.array(levels, np.int64), sizes)

    def _checked(self, side: str, sizes: Ints) -> int:
        index, size = getattr(self, side), int(sizes[0 if side == "row" else 1])
        if index is None:
            raise InputError(f"a {side} for the policy 'best'", "none", "try 'best:row=0,col=0'")
        return whole_number(f"{side} of the policy 'best'", index, least=0, most=size - 1)


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
