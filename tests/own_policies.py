"""The policies of the package, without the slow twins that tests define under names of their own, and one of a user."""

import rankone
from rankone.kernels.decision import same_kind

#: References and yardsticks for worlds that change, each beside another on the same engine: what every policy must do is
#: asked of them, too (`own_policies("all")`), but not every test of loops, pages and live experiments.
BESIDE_ANOTHER = ("cusum-ucb", "d-ts", "m-ucb", "sliding-uts", "sw-ts")


def own_policies(plays: str = "pair") -> list[str]:
    """Names of those that can play this, of two factors where it is combinations, one an engine; "all" of them.

    Only "all" has those that publish weights: `tests/live/test_edge.py` runs them live. Not those that need visitors who can be told apart: `tests/policies/test_conformance.py`,
    `tests/policies/test_segmented_uts.py` and `tests/arrivals` have these.
    """
    every = rankone.known_policies().items()
    own = {name: kind for name, kind in every if kind.__module__.startswith("rankone.") and not kind.by_segment}
    own = {name: kind for name, kind in own.items() if not hasattr(kind, "users")}
    if plays == "all":
        return sorted(own)
    return sorted(
        name
        for name, kind in own.items()
        if same_kind(kind.decision_kind, plays, (2, 2))
        and name not in BESIDE_ANOTHER
        and not (kind.uses_context or kind.decides_away)
    )


#: What a user writes: a policy that always plays the first pair.
CORNER = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import numpy as np, rankone
from rankone.kernels.policy import decide, learn, relearn

class CornerState(NamedTuple):
    nothing: np.ndarray

@dataclass(frozen=True)
class Corner(rankone.Policy):
    '''Always the first pair.'''

    name: ClassVar[str] = "corner"
    def start(self, n_rows, n_cols):
        return CornerState(np.zeros(1))

@decide.register(CornerState)
def _decide(state, context, rng, shown):
    shown[0] = shown[1] = 0
    return 0

@learn.register(CornerState)
def _learn(state, shown, tag, outcome):
    pass

@relearn.register(CornerState)
def _relearn(state, shown, pulls, clicks):
    pass
"""
