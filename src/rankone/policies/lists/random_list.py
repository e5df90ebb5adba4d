"""A yardstick: every decision is a list drawn uniformly at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.kernels.decision import Plays
from rankone.kernels.policy import FILLER, decide, learn, syncs
from rankone.policies.base import Policy, check_list_sizes
from rankone.policies.engines.list_shuffling import draw_items


class RandomListState(NamedTuple):
    """Nothing to learn: only the items, in some order."""

    items: npt.NDArray[np.int64]  # (L,)


@dataclass(frozen=True)
class RandomList(Policy):
    """Learns nothing: what a policy has to beat, and the cleanest log to fit a click model to.

    >>> RandomList().label
    'random-list'
    """

    name: ClassVar[str] = "random-list"
    suits: ClassVar[str] = "a yardstick; data for fitting that no policy has bent"
    plays: ClassVar[Plays] = "list"

    def start(self, n_items: int, n_positions: int) -> RandomListState:
        """Return the state before the first list."""
        check_list_sizes(n_items, n_positions)
        return RandomListState(np.arange(n_items))


@decide.register(RandomListState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    draw_items(state.items, shown, 0, rng)
    return FILLER


@learn.register(RandomListState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    pass


@syncs.register(RandomListState)
def _syncs(state: RandomListState) -> int:
    return 0
