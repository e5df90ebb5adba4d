"""A yardstick: every decision is a pair drawn uniformly at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.kernels.policy import FILLER, chance, choose, syncs, update
from rankone.policies.base import Policy, check_sizes


class UniformState(NamedTuple):
    """Nothing to learn: only the sizes."""

    sizes: npt.NDArray[np.int64]  # (2,) rows and columns


@dataclass(frozen=True)
class Uniform(Policy):
    """Learns nothing: what a policy has to beat, and the cleanest log to fit a click model to.

    >>> Uniform().label
    'uniform'
    """

    name: ClassVar[str] = "uniform"
    suits: ClassVar[str] = "a yardstick; data for fitting that no policy has bent"

    def start(self, n_rows: int, n_cols: int) -> UniformState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        return UniformState(np.array([n_rows, n_cols]))


@choose.register(UniformState)
def _choose(state: UniformState, rng: Any) -> tuple[int, int, int]:
    return int(rng.random() * state.sizes[0]), int(rng.random() * state.sizes[1]), FILLER


@update.register(UniformState)
def _update(state: UniformState, row: int, col: int, tag: int, reward: int) -> None:
    pass


@syncs.register(UniformState)
def _syncs(state: UniformState) -> int:
    return 0


@chance.register(UniformState)
def _chance(state: UniformState, shown: Any) -> float:
    return 1.0 / (state.sizes[0] * state.sizes[1])
