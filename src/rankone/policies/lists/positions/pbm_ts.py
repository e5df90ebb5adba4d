"""Thompson sampling in the position-based model with known examination: the exact posterior (Lagree, Vernade, Cappe,
NIPS 2016, section 4.3; Komiyama et al. 2015 draw from an approximation, see `bc-ts`).

With S clicks of an item in all and F(k) displays at position k, of examination e(k), that were not clicked, the
posterior density of its attraction q is proportional to q^S times the product of (1 - e(k) q)^F(k). Every item draws
from it (`numerics.product_posterior`), and the k-th largest draw goes to the k-th most examined position.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.kernels.policy import Belief, believe, decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.product_posterior import draw_factors
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import OfPositions, needed_examination, positions_by_weight, show_largest


class PBMTSState(NamedTuple):
    """Clicks of every item, and its displays without a click at every position."""

    clicks: Annotated[Floats, "L"]
    misses: Annotated[Floats, "L, K"]
    hulls: Annotated[Floats, "L, 5"]  # what draws are made from
    stale: Annotated[Ints, "L"]  # 1 where the counts changed since the hull was made
    scores: Annotated[Floats, "L"]  # scratch space
    top: Annotated[Ints, "K"]  # scratch space
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class PBMTS(ListPolicy):
    """Thompson sampling from the exact posterior of attractions, for lists whose examination is known.

    Args:
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "pbm-ts"
    use_when = "position-based lists of known examination; any horizon, late outcomes"
    examination: OfPositions = None

    def _begin(self, n_items: int, n_positions: int) -> PBMTSState:
        exams = needed_examination(self, self.examination, n_positions)
        positions = positions_by_weight(exams)
        return start_state(PBMTSState, L=n_items, K=n_positions, stale=1, examination=exams, positions=positions)


@decide.register(PBMTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    draw_factors(state.clicks, state.misses, state.examination, state.hulls, state.stale, state.scores, rng)
    show_largest(state, state.scores, state.scores, shown)
    return 0


@learn.register(PBMTSState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item = shown[position]
        if item >= 0:
            state.clicks[item] += outcome[position]
            state.misses[item, position] += 1 - outcome[position]
            state.stale[item] = 1


@believe.register(PBMTSState)
def _believe(state: PBMTSState, rng: Any) -> Belief:
    blocks = np.zeros(len(state.clicks), np.int64)
    return Belief(blocks, state.clicks.copy(), state.misses.copy(), state.examination.copy(), state.positions.copy())


@relearn.register(PBMTSState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    for position in range(len(shown)):
        if shown[position] >= 0:
            state.clicks[shown[position]] += clicks
            state.misses[shown[position], position] += pulls - clicks
            state.stale[shown[position]] = 1
