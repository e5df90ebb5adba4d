"""PBM-PIE: Lagree, Vernade, Cappe, "Multiple-Play Bandits in the Position-Based Model" (NIPS 2016), Algorithm 1.

The K items with the largest S / E (clicks over the sum of examinations at which they were shown) are the leaders, the
best at the most examined position. With N(k) displays and S(k) clicks of an item at position k of examination e(k) ::

    phi(q) = sum over k of  N(k) d(S(k) / N(k), e(k) q)

An item outside is a candidate if its upper bound, the largest q with phi(q) <= (1 + epsilon) log T, reaches the
estimate x of the last leader. No root is needed: that is so if phi falls at x or phi(x) <= (1 + epsilon) log T. If
there are candidates, then in half of the lists one of them, drawn uniformly, takes the least examined position.

List t = 1 ... L shows item (t + k) mod L at position k, numbered in an order that is drawn first. Ties are drawn
afresh. T is the horizon. Candidates are only ever tried at the last position, which is not always where that costs
least (`PBM.lower_bound_constant`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.policies.base import ListPolicy, needed_horizon
from rankone.policies.engines.lists.list_known import check_probabilities, needed_examination
from rankone.policies.engines.lists.list_ranking import draw_ties, rank_largest, show_at
from rankone.policies.engines.lists.list_reading import places_by_weight
from rankone.policies.lists.positions.pbm_ucb import check_epsilon
from rankone.specs import Numbers


class PBMPIEState(NamedTuple):
    """Displays and clicks of every item at every position."""

    pulls: Ints  # (L, K)
    clicks: Ints  # (L, K)
    totals: Floats  # (L, 2) clicks; sum of examinations
    order: Ints  # (L,) how items are numbered in the first lists
    scores: Floats  # (2, L) scratch space: estimates and ties
    top: Ints  # (K,) scratch space: the leaders
    candidates: Ints  # (L,) scratch space
    counters: Ints  # (1,) lists so far
    constants: Floats  # (1,)
    examination: Floats  # (K,)
    places: Ints  # (K,)


@dataclass(frozen=True)
class PBMPIE(ListPolicy):
    """The best items so far, and in half of the lists one that could be as good, at the least examined position.

    Args:
        horizon: number of lists; a study fills it in.
        epsilon: how much the exploration level exceeds log of the horizon.
        examination: how likely each position is looked at; a study of a `PBM` fills it in.

    >>> PBMPIE(horizon=100_000).label
    'pbm-pie:horizon=100000'
    """

    name: ClassVar[str] = "pbm-pie"
    use_when: ClassVar[str] = "position-based lists of known examination, with a guarantee; horizon known"
    horizon: int | None = None
    epsilon: float = 0.0
    examination: Numbers | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_probabilities("examination", self.examination)

    def _begin(self, n_items: int, n_positions: int) -> PBMPIEState:
        exams = needed_examination(self, self.examination, n_positions)
        level = (1.0 + self.epsilon) * math.log(needed_horizon(self, self.horizon))
        pulls, clicks = np.zeros((2, n_items, n_positions), np.int64)
        return PBMPIEState(
            pulls, clicks, np.zeros((n_items, 2)), np.arange(n_items), np.zeros((2, n_items)),
            np.zeros(n_positions, np.int64), np.zeros(n_items, np.int64), np.zeros(1, np.int64), np.array([level]),
            exams, places_by_weight(exams),
        )  # fmt: skip


@noalloc
def _could_reach(state: Any, item: int, x: float) -> bool:
    """Tell whether the upper bound of an item reaches x."""
    phi, slope, exams = 0.0, 0.0, state.examination
    if x <= 0.0:
        return True
    for place in range(len(exams)):
        pulls, clicks, rate = state.pulls[item, place], state.clicks[item, place], min(exams[place] * x, 1.0)
        if pulls > 0:
            phi += pulls * bernoulli_kl(clicks / pulls, rate)
            slope -= clicks / x
            if pulls > clicks:
                slope += exams[place] * (pulls - clicks) / (1.0 - rate) if rate < 1.0 else math.inf
    return slope <= 0.0 or phi <= state.constants[0]


@noalloc
def _sweep(state: Any, rng: Any, shown: Any) -> None:
    """Show each item once at each position, in the first L lists."""
    order, step = state.order, state.counters[0]
    if step == 0:
        for item in range(len(order)):
            other = int(rng.random() * (item + 1))
            order[item], order[other] = order[other], order[item]
    for place in range(len(shown)):
        shown[place] = order[(step + place) % len(order)]


@decide.register(PBMPIEState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    estimates, ties, top, totals = state.scores[0], state.scores[1], state.top, state.totals
    if state.counters[0] < len(state.order):
        _sweep(state, rng, shown)
        state.counters[0] += 1
        return 0
    state.counters[0] += 1
    for item in range(len(estimates)):
        estimates[item] = totals[item, 0] / totals[item, 1] if totals[item, 1] > 0.0 else 0.0
    draw_ties(ties, rng)
    rank_largest(estimates, ties, top)
    show_at(state.places, top, shown)
    for place in range(len(top)):
        ties[top[place]] = -1.0  # from here on: a leader
    last, found = estimates[top[len(top) - 1]], 0
    for item in range(len(estimates)):
        if ties[item] >= 0.0 and _could_reach(state, item, last):
            state.candidates[found] = item
            found += 1
    if found > 0 and rng.random() < 0.5:
        shown[state.places[len(shown) - 1]] = state.candidates[int(rng.random() * found)]
    return 0


@learn.register(PBMPIEState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for place in range(len(shown)):
        item = shown[place]
        state.pulls[item, place] += 1
        state.clicks[item, place] += outcome[place]
        state.totals[item, 0] += outcome[place]
        state.totals[item, 1] += state.examination[place]
