"""The policies of the package, without the slow twins that tests define under names of their own, and one of a user."""

import rankone
from rankone.kernels.decision import same_kind


def own_policies(plays: str = "pair") -> list[str]:
    """Names of those that can play this, of two factors where it is combinations; "all" of them."""
    own = {name: kind for name, kind in rankone.known_policies().items() if kind.__module__.startswith("rankone.")}
    return sorted(name for name, kind in own.items() if plays == "all" or same_kind(kind.plays, plays, (2, 2)))


#: What a user writes: a policy that always plays the first pair.
CORNER = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import numpy as np, rankone
from rankone.kernels.policy import choose, update

class CornerState(NamedTuple):
    nothing: np.ndarray

@dataclass(frozen=True)
class Corner(rankone.Policy):
    '''Always the first pair.'''

    name: ClassVar[str] = "corner"
    def start(self, n_rows, n_cols):
        return CornerState(np.zeros(1))

@choose.register(CornerState)
def _choose(state, rng):
    return 0, 0, 0

@update.register(CornerState)
def _update(state, row, col, tag, reward):
    pass
"""
