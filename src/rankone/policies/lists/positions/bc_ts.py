"""BC-MP-TS, bias-corrected Thompson sampling: Komiyama, Honda, Nakagawa, "Optimal Regret Analysis of Thompson
Sampling in Stochastic Multi-armed Bandit Problem with Multiple Plays" (ICML 2015), supplement.

Every item draws from Beta(S + 1, E - S + 1): S its clicks, E the sum of the examinations of the positions at which it
was shown, so that a display where few look counts little. E - S counts as at least 0. The k-th largest draw goes to
the k-th most examined position.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.kernels.policy import Belief, believe, decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import (
    OfPositions,
    beta_belief,
    needed_examination,
    positions_by_weight,
    show_largest,
)


class BCTSState(NamedTuple):
    """Clicks of every item, and how much it was looked at."""

    looks: Annotated[Floats, "L"]  # sum of the examinations at which the item was shown
    clicks: Annotated[Floats, "L"]
    scores: Annotated[Floats, "L"]  # scratch space
    top: Annotated[Ints, "K"]  # scratch space
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class BCTS(ListPolicy):
    """Thompson sampling that counts a display for as much as its position is examined, which has to be known.

    Args:
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "bc-ts"
    use_when = "position-based lists of known examination, attractions below 0.3"
    examination: OfPositions = None

    def _begin(self, n_items: int, n_positions: int) -> BCTSState:
        exams = needed_examination(self, self.examination, n_positions)
        positions = positions_by_weight(exams)
        return start_state(BCTSState, L=n_items, K=n_positions, examination=exams, positions=positions)


@decide.register(BCTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    looks, clicks, scores = state.looks, state.clicks, state.scores
    for item in range(len(scores)):
        scores[item] = draw_beta(max(looks[item], clicks[item]), clicks[item], rng)
    show_largest(state, scores, scores, shown)
    return 0


@learn.register(BCTSState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        if shown[position] >= 0:
            state.looks[shown[position]] += state.examination[position]
            state.clicks[shown[position]] += outcome[position]


@believe.register(BCTSState)
def _believe(state: BCTSState, rng: Any) -> Belief:
    return beta_belief(state.looks, state.clicks, state.positions)
