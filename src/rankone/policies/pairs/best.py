"""A yardstick: an oracle that always chooses one given pair, normally the best one."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError
from rankone.kernels.policy import FILLER, chance, choose, settled, syncs, update
from rankone.policies.base import Policy, check_sizes
from rankone.specs import whole_number


class BestState(NamedTuple):
    """The pair to choose, and the sizes."""

    pair: npt.NDArray[np.int64]  # (2,) row and column
    sizes: npt.NDArray[np.int64]  # (2,) how many rows and columns there are


@dataclasses.dataclass(frozen=True)
class Best(Policy):
    """Always chooses the pair (row, col); a study fills in the best pair of its problem.

    Args:
        row: the row, counted from 0.
        col: the column, counted from 0.

    >>> Best().for_problem(best_row=2, best_col=0).label
    'best:row=2,col=0'
    """

    row: int | None = None
    col: int | None = None
    name: ClassVar[str] = "best"
    suits: ClassVar[str] = "a yardstick: no regret at all"

    def for_problem(self, best_row: int, best_col: int) -> Self:
        """Fill in the pair where none is given."""
        row = best_row if self.row is None else self.row
        col = best_col if self.col is None else self.col
        return dataclasses.replace(self, row=row, col=col)

    def start(self, n_rows: int, n_cols: int) -> BestState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        for index, size, side in ((self.row, n_rows, "row"), (self.col, n_cols, "col")):
            if index is None:
                raise InputError(f"a {side} for the policy 'best'", "none", "try 'best:row=0,col=0'")
            whole_number(f"{side} of the policy 'best'", index, least=0, most=size - 1)
        return BestState(np.array([self.row, self.col], dtype=np.int64), np.array([n_rows, n_cols]))


@choose.register(BestState)
def _choose(state: BestState, rng: Any) -> tuple[int, int, int]:
    return state.pair[0], state.pair[1], FILLER


@update.register(BestState)
def _update(state: BestState, row: int, col: int, tag: int, reward: int) -> None:
    pass


@settled.register(BestState)
def _settled(state: BestState) -> bool:
    return True


@syncs.register(BestState)
def _syncs(state: BestState) -> int:
    return 0


@chance.register(BestState)
def _chance(state: BestState, shown: Any) -> float:
    return 1.0 if shown[0] == state.pair[0] and shown[1] == state.pair[1] else 0.0
