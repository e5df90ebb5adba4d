"""Thompson sampling in the position-based model with known examination. The k-th largest draw goes to the k-th most
examined position.

* `pbm-ts` draws from the exact posterior (Lagree, Vernade, Cappe, NIPS 2016, section 4.3). With S clicks of an item in
  all and F(k) displays at position k, of examination e(k), that were not clicked, the density of its attraction q is
  proportional to q^S times the product of (1 - e(k) q)^F(k) (`numerics.product_posterior`).
* `bc-ts` is BC-MP-TS, bias-corrected Thompson sampling (Komiyama, Honda, Nakagawa, "Optimal Regret Analysis of Thompson
  Sampling in Stochastic Multi-armed Bandit Problem with Multiple Plays", ICML 2015, supplement). Every item draws from
  Beta(S + 1, E - S + 1): E is the sum of the examinations of the positions at which it was shown, so that a display
  where few look counts little. E - S counts as at least 0.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.kernels.policy import Belief, believe, decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.betas.product_posterior import draw_factors
from rankone.numerics.states import start_state
from rankone.policies.engines.lists.layout import KnownExamination, beta_belief, show_largest


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


class BCTSState(NamedTuple):
    """Clicks of every item, and how much it was looked at."""

    looks: Annotated[Floats, "L"]  # sum of the examinations at which the item was shown
    clicks: Annotated[Floats, "L"]
    scores: Annotated[Floats, "L"]  # scratch space
    top: Annotated[Ints, "K"]  # scratch space
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class PBMTS(KnownExamination):
    """Thompson sampling from the exact posterior of attractions, for lists whose examination is known.

    Args:
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "pbm-ts"
    use_when = "position-based lists of known examination; any horizon, late outcomes"

    def _begin(self, n_items: int, n_positions: int) -> PBMTSState:
        return start_state(PBMTSState, L=n_items, K=n_positions, stale=1, **self._known(n_positions))


@dataclass(frozen=True)
class BCTS(KnownExamination):
    """Thompson sampling that counts a display for as much as its position is examined, which has to be known.

    Args:
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "bc-ts"
    use_when = "position-based lists of known examination, attractions below 0.3"

    def _begin(self, n_items: int, n_positions: int) -> BCTSState:
        return start_state(BCTSState, L=n_items, K=n_positions, **self._known(n_positions))


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


@decide.register(BCTSState)
def _decide_bc(state: Any, context: Any, rng: Any, shown: Any) -> int:
    looks, clicks, scores = state.looks, state.clicks, state.scores
    for item in range(len(scores)):
        scores[item] = draw_beta(max(looks[item], clicks[item]), clicks[item], rng)
    show_largest(state, scores, scores, shown)
    return 0


@learn.register(BCTSState)
def _learn_bc(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        if shown[position] >= 0:
            state.looks[shown[position]] += state.examination[position]
            state.clicks[shown[position]] += outcome[position]


@believe.register(BCTSState)
def _believe_bc(state: BCTSState, rng: Any) -> Belief:
    return beta_belief(state.looks, state.clicks, state.positions)
