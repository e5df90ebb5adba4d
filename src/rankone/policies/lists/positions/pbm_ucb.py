"""PBM-UCB and PBM-PIE: Lagree, Vernade, Cappe, "Multiple-Play Bandits in the Position-Based Model" (NIPS 2016), section
4.1 and Algorithm 1.

**PBM-UCB.** With S clicks of an item, N displays and E the sum of the examinations at which it was shown, the index
after t lists is ::

    S / E + sqrt(N / E) sqrt((1 + epsilon) log t / (2 E))

and infinite before the first display. The k-th largest index goes to the k-th most examined position. Ties are drawn
afresh. Its regret is far above that of the others that know the examination: for comparison with the literature only.

**PBM-PIE.** The K items with the largest S / E (as above) are the leaders, the best at the most examined position. With
N(k) displays and S(k) clicks of an item at position k of examination e(k) ::

    phi(q) = sum over k of  N(k) d(S(k) / N(k), e(k) q)

An item outside is a candidate if its upper bound, the largest q with phi(q) <= (1 + epsilon) log T, reaches the
estimate x of the last leader. No root is needed: that is so if phi falls at x or phi(x) <= (1 + epsilon) log T. If
there are candidates, then in half of the lists one of them, drawn uniformly, takes the least examined position.

List t = 1 ... L shows item (t + k) mod L at position k, numbered in an order that is drawn first. Ties are drawn
afresh. T is the horizon. Candidates are only ever tried at the last position, which is not always where that costs
least (`PBM.lower_bound_constant`).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import decide, learn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl
from rankone.numerics.states import start_state
from rankone.policies.base import AtLeast0, needed_horizon
from rankone.policies.engines.lists.layout import KnownExamination, draw_ties, show_largest


class PBMUCBState(NamedTuple):
    """Displays and clicks of every item, and how much it was looked at."""

    pulls: Annotated[Ints, "L"]  # displays
    looks: Annotated[Floats, "L"]  # sum of the examinations at which the item was shown
    clicks: Annotated[Ints, "L"]
    scores: Annotated[Floats, "2, L"]  # scratch space: indices and ties
    top: Annotated[Ints, "K"]  # scratch space
    counters: Annotated[Ints, "1"]  # lists so far
    epsilon: Annotated[Floats, "1"]
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


class PBMPIEState(NamedTuple):
    """Displays and clicks of every item at every position."""

    pulls: Annotated[Ints, "L, K"]
    clicks: Annotated[Ints, "L, K"]
    totals: Annotated[Floats, "L, 2"]  # clicks; sum of examinations
    order: Annotated[Ints, "L"]  # how items are numbered in the first lists
    scores: Annotated[Floats, "2, L"]  # scratch space: estimates and ties
    top: Annotated[Ints, "K"]  # scratch space: the leaders
    candidates: Annotated[Ints, "L"]  # scratch space
    counters: Annotated[Ints, "1"]  # lists so far
    constants: Annotated[Floats, "1"]
    examination: Annotated[Floats, "K"]
    positions: Annotated[Ints, "K"]


@dataclass(frozen=True)
class PBMUCB(KnownExamination):
    """Optimism by Hoeffding bounds for lists whose examination is known.

    Args:
        epsilon: how much the exploration level exceeds log t.
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "pbm-ucb"
    use_when = "a comparison with the literature on position-based lists"
    epsilon: AtLeast0 = 0.01

    def _begin(self, n_items: int, n_positions: int) -> PBMUCBState:
        return start_state(PBMUCBState, L=n_items, K=n_positions, epsilon=self.epsilon, **self._known(n_positions))


@dataclass(frozen=True)
class PBMPIE(KnownExamination):
    """The best items so far, and in half of the lists one that could be as good, at the least examined position.

    Args:
        horizon: number of lists; a study fills it in.
        epsilon: how much the exploration level exceeds log of the horizon.
        examination: how likely each position is looked at; a study of a `PBM` fills it in.
    """

    name = "pbm-pie"
    use_when = "position-based lists of known examination, with a guarantee; horizon known"
    horizon: int | None = None
    epsilon: AtLeast0 = 0.0

    def _begin(self, n_items: int, n_positions: int) -> PBMPIEState:
        known = self._known(n_positions)
        level = (1.0 + self.epsilon) * math.log(needed_horizon(self, self.horizon))
        return start_state(PBMPIEState, L=n_items, K=n_positions, order=np.arange(n_items), constants=level, **known)


@decide.register(PBMUCBState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    state.counters[0] += 1
    level, scores = (1.0 + state.epsilon[0]) * math.log(state.counters[0]), state.scores
    for item in range(len(state.pulls)):
        looks = state.looks[item]
        scores[0, item] = math.inf
        if looks > 0.0:
            width = math.sqrt(state.pulls[item] * level / (2.0 * looks * looks))
            scores[0, item] = state.clicks[item] / looks + width
    draw_ties(scores[1], rng)
    show_largest(state, scores[0], scores[1], shown)
    return 0


@learn.register(PBMUCBState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item = shown[position]
        state.pulls[item] += 1
        state.looks[item] += state.examination[position]
        state.clicks[item] += outcome[position]


@noalloc
def _could_reach(state: Any, item: int, x: float) -> bool:
    phi, slope, exams = 0.0, 0.0, state.examination
    if x <= 0.0:
        return True
    for position in range(len(exams)):
        pulls, clicks, rate = state.pulls[item, position], state.clicks[item, position], min(exams[position] * x, 1.0)
        if pulls > 0:
            phi += pulls * bernoulli_kl(clicks / pulls, rate)
            slope -= clicks / x
            if pulls > clicks:
                slope += exams[position] * (pulls - clicks) / (1.0 - rate) if rate < 1.0 else math.inf
    return slope <= 0.0 or phi <= state.constants[0]


@noalloc
def _sweep(state: Any, rng: Any, shown: Any) -> None:
    """Show each item once at each position, in the first L lists."""
    order, step = state.order, state.counters[0]
    if step == 0:
        for item in range(len(order)):
            other = int(rng.random() * (item + 1))
            order[item], order[other] = order[other], order[item]
    for position in range(len(shown)):
        shown[position] = order[(step + position) % len(order)]


@decide.register(PBMPIEState)
def _decide_pie(state: Any, context: Any, rng: Any, shown: Any) -> int:
    estimates, ties, top, totals = state.scores[0], state.scores[1], state.top, state.totals
    if state.counters[0] < len(state.order):
        _sweep(state, rng, shown)
        state.counters[0] += 1
        return 0
    state.counters[0] += 1
    for item in range(len(estimates)):
        estimates[item] = totals[item, 0] / totals[item, 1] if totals[item, 1] > 0.0 else 0.0
    draw_ties(ties, rng)
    show_largest(state, estimates, ties, shown)
    for position in range(len(top)):
        ties[top[position]] = -1.0  # from here on: a leader
    last, count = estimates[top[len(top) - 1]], 0
    for item in range(len(estimates)):
        if ties[item] >= 0.0 and _could_reach(state, item, last):
            state.candidates[count] = item
            count += 1
    if count > 0 and rng.random() < 0.5:
        shown[state.positions[len(shown) - 1]] = state.candidates[int(rng.random() * count)]
    return 0


@learn.register(PBMPIEState)
def _learn_pie(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        item = shown[position]
        state.pulls[item, position] += 1
        state.clicks[item, position] += outcome[position]
        state.totals[item, 0] += outcome[position]
        state.totals[item, 1] += state.examination[position]
