"""A yardstick: every decision is a pair drawn uniformly at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses, syncss
from rankone.policies.pairs import PairState, remember_choice, start_pairs


class UniformState(PairState):
    """Pulls and clicks of every pair: counted, never used."""


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
        state: UniformState = start_pairs(UniformState, n_rows, n_cols)
        return state


@chooses.register(UniformState)
def _choose(state: PairState, rng: Any) -> tuple[int, int, int]:
    return remember_choice(state, int(rng.random() * len(state.pulls)))


@syncss.register(UniformState)
def _syncs(state: PairState) -> int:
    return 0
