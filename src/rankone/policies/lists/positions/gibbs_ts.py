"""Thompson sampling in the position-based model where neither attraction nor examination is known: one step of a Gibbs
sampler for every list.

The rank-1 posterior of attractions q(i) and examinations e(k), with uniform priors, has no closed form, but each
factor alone has one: given the examinations, attractions are independent of each other and each has the posterior of
`pbm-ts`; given the attractions, so have examinations. For every list, draw all attractions given the examinations
drawn last, then all examinations given these attractions, and divide them by the largest, as only their ratios can be
known. The k-th largest attraction goes to the position with the k-th largest examination.

The target is that of PB-MHB (Gauthier, Gaudel, Fromont, IDA 2021), see `pb-mhb`; the sampler needs no step size. No
position is taken to be the best: fixing the examination of position 1 fails where another one is looked at more. There
is no proof of its regret. A page of one position has nothing to learn about examination.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.tiers import tiered
from rankone.kernels.policy import Belief, believe, decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.product_posterior import draw_factor, draw_factors, make_hull
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import rank_largest, show_largest

GIBBS_ASKED, GIBBS_EVERY = range(2)
_FREE = 50  # items up to which examinations are drawn for every list


class GibbsTSState(NamedTuple):
    """Clicks, displays without a click, and the factors drawn last."""

    item_clicks: Annotated[Floats, "L"]
    position_clicks: Annotated[Floats, "K"]
    misses: Annotated[Floats, "L, K"]
    misses_by_position: Annotated[Floats, "K, L"]  # the same, turned
    attraction: Annotated[Floats, "L"]  # drawn last
    examination: Annotated[Floats, "K"]  # drawn last, the largest is 1
    item_hulls: Annotated[Floats, "L, 5"]
    position_hulls: Annotated[Floats, "K, 5"]
    stale: Annotated[Ints, "L"]  # 1 where the hull of an item has to be made anew
    top: Annotated[Ints, "K"]  # scratch space: the best items
    positions: Annotated[Ints, "K"]  # scratch space: the most examined positions
    counters: Annotated[Ints, "2"]  # lists so far; lists between two draws of the examinations


@dataclass(frozen=True)
class GibbsTS(ListPolicy):
    """Thompson sampling that learns attraction and examination together, from the rank-1 posterior.

    Args:
        every: lists between two draws of the examinations; by default 1 for up to 50 items, and more for more items.
    """

    name = "gibbs-ts"
    use_when = "lists of unknown examination, in any order of positions; late outcomes"
    every: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, n_items: int, n_positions: int) -> GibbsTSState:
        every = self.every if self.every is not None else 1 + (n_items - 1) // _FREE
        return start_state(GibbsTSState, L=n_items, K=n_positions, examination=1.0, stale=1, counters=[0, every])


@noalloc
def draw_examinations(state: Any, rng: Any) -> None:
    """Draw every examination given the attractions; divide by the largest."""
    exams, largest = state.examination, 0.0
    for position in range(len(exams)):
        clicks, misses = state.position_clicks[position], state.misses_by_position[position]
        hull = state.position_hulls[position]
        make_hull(clicks, misses, state.attraction, hull)
        exams[position] = draw_factor(clicks, misses, state.attraction, hull, rng)
        largest = max(largest, exams[position])
    for position in range(len(exams)):
        exams[position] /= largest
    state.stale[:] = 1


@decide.register(GibbsTSState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    clicks, misses, hulls, drawn = state.item_clicks, state.misses, state.item_hulls, state.attraction
    draw_factors(clicks, misses, state.examination, hulls, state.stale, drawn, rng)
    if state.counters[GIBBS_ASKED] % state.counters[GIBBS_EVERY] == 0:
        draw_examinations(state, rng)
    state.counters[GIBBS_ASKED] += 1
    rank_largest(state.examination, state.examination, state.positions)
    show_largest(state, state.attraction, state.attraction, shown)
    return 0


@learn.register(GibbsTSState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item, missed = shown[position], 1 - outcome[position]
        if item >= 0:
            state.item_clicks[item] += outcome[position]
            state.position_clicks[position] += outcome[position]
            state.misses[item, position] += missed
            state.misses_by_position[position, item] += missed
            state.stale[item] = 1


def _sweep(state: Any, rng: Any) -> None:
    draw_factors(
        state.item_clicks, state.misses, state.examination, state.item_hulls, state.stale, state.attraction, rng
    )
    draw_examinations(state, rng)
    rank_largest(state.examination, state.examination, state.positions)


@believe.register(GibbsTSState)
def _believe(state: GibbsTSState, rng: Any) -> Belief:
    """Move the sampler by one step; given the examinations drawn, attractions are independent of each other."""
    tiered(_sweep, __name__)(state, rng)
    blocks, exams = np.zeros(len(state.attraction), np.int64), state.examination.copy()
    return Belief(blocks, state.item_clicks.copy(), state.misses.copy(), exams, state.positions.copy())


@relearn.register(GibbsTSState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    for position in range(len(shown)):
        item = shown[position]
        if item >= 0:
            state.item_clicks[item] += clicks
            state.position_clicks[position] += clicks
            state.misses[item, position] += pulls - clicks
            state.misses_by_position[position, item] += pulls - clicks
            state.stale[item] = 1
