"""A published lottery: levels are drawn independently, with chances that stay as they are for many decisions.

It is for sites that decide away from the server: on the page, in a worker of a CDN (`docs/edge.md`). The chances of a
*version* are renewed after every max(B, 5% of the decisions so far): a million decisions make 101 versions at
B = 1,000. What is learned are sums, clicks of each version on each level; whatever the site's rate did meanwhile, they
say which level is better (`rankone.policies.engines.level_lottery` has the rule). Decisions without a click are not
looked at: that costs little while click rates are low, and up to 1.6 times the regret of UTS where half are clicked.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import View, chance, decide, learn, relearn, view
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.numerics.states import start_state
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.level_lottery import DRAWS, draw_ratios, fit_levels, mix_lottery

GROWTH = 0.05  # of the decisions so far: a version is at least so long
_MOST_VERSIONS = 640  # more than 10^14 decisions need, however short the first version is
EDGE_DECISIONS, EDGE_NEXT, EDGE_VERSION, EDGE_CLICKS = range(4)  # fields of `EdgeState.counters`


class EdgeState(NamedTuple):
    """Sums per version, the present lottery, and room to renew it."""

    clicks: Annotated[Floats, "V, L"]  # of each version on each level, factor after factor
    chances: Annotated[Floats, "V, L"]  # with which levels were drawn
    scores: Annotated[Floats, "L"]
    best: Annotated[Floats, "L"]
    pulls: Annotated[Ints, "L"]
    sizes: Annotated[Ints, "D"]
    first: Annotated[Ints, "D"]
    counters: Annotated[Ints, "4"]
    parameters: Annotated[Floats, "2"]  # decisions of a version; the part that decides
    roots: Annotated[Floats, "D, K, K"]
    work: Annotated[Floats, "D, 5, K"]


@dataclass(frozen=True)
class Edge(CombinationPolicy):
    """A lottery that is published and renewed every so many decisions: for deciding away from the server."""

    name = "edge"
    use_when = "decisions away from the server, by published weights; click rates up to 20%"
    supports_forbidden = False
    decides_away: ClassVar[bool] = True
    every: Annotated[int, "[1, inf)"] = 100  # decisions of a version, at least; live, visitors who were shown it
    decide: Annotated[float, "[0, 1]"] = 0.0  # the part of decisions for a verdict; live, the aim says it
    seconds: Annotated[float, "[1, 86400]"] = 60.0  # of a version, at least; live only

    def _begin(self, sizes: Ints, forbidden: Ints) -> EdgeState:
        even = np.repeat(1.0 / sizes, sizes)
        shape = {"V": _MOST_VERSIONS, "L": int(sizes.sum()), "D": len(sizes), "K": int(sizes.max())}
        state: EdgeState = start_state(
            EdgeState, **shape, sizes=sizes, first=starts_of(sizes)[:-1], parameters=(self.every, self.decide)
        )
        state.chances[0] = even
        state.counters[EDGE_NEXT] = self.every
        return state


@noalloc
def _renew_factor(state: Any, factor: int, version: int, rng: Any) -> None:
    """Work out the chances of the levels of a factor for a version."""
    first, size = state.first[factor], state.sizes[factor]
    scores, best = state.scores[first : first + size], state.best
    root, work = state.roots[factor, :size, :size], state.work[factor, :, :size]
    leader = fit_levels(state.clicks, state.chances, version, first, scores, root, work)
    best[first : first + size] = 0.0
    for _ in range(DRAWS):
        draw_ratios(scores, root, work[3], leader, rng, work[4])
        winner = leader
        for x in range(size):
            winner = x if work[4, x] > work[4, winner] else winner
        best[first + winner] += 1.0 / DRAWS
    mix_lottery(best, first, size, leader, state.counters[EDGE_CLICKS], state.parameters[1])
    for x in range(size):
        state.chances[version, first + x] = best[first + x]


@noalloc
def renew(state: Any, rng: Any) -> None:
    """Begin the next version, but for the last that there is room for."""
    counters = state.counters
    version = counters[EDGE_VERSION] + 1
    if version == len(state.chances):
        return
    for factor in range(len(state.sizes)):
        _renew_factor(state, factor, version, rng)
    counters[EDGE_VERSION] = version
    length = max(state.parameters[0], GROWTH * counters[EDGE_DECISIONS])
    counters[EDGE_NEXT] = counters[EDGE_DECISIONS] + int(length)


@decide.register(EdgeState)
def _decide(state: EdgeState, context: Any, rng: Any, shown: Any) -> int:
    counters = state.counters
    if counters[EDGE_DECISIONS] >= counters[EDGE_NEXT]:
        renew(state, rng)
    counters[EDGE_DECISIONS] += 1
    version = counters[EDGE_VERSION]
    for factor in range(len(shown)):
        left, first, level = rng.random(), state.first[factor], 0
        while level < state.sizes[factor] - 1 and left >= state.chances[version, first + level]:
            left -= state.chances[version, first + level]
            level += 1
        shown[factor] = level
    return version


@noalloc
def _count(state: Any, shown: Any, version: int, pulls: int, clicks: int) -> None:
    state.counters[EDGE_CLICKS] += clicks
    for factor in range(len(state.sizes)):
        level = state.first[factor] + shown[factor]
        state.pulls[level] += pulls
        state.clicks[version, level] += clicks


@learn.register(EdgeState)
def _learn(state: EdgeState, shown: Any, tag: int, outcome: Any) -> None:
    _count(state, shown, tag, 1, outcome[0])


@relearn.register(EdgeState)
def _relearn(state: EdgeState, shown: Any, pulls: int, clicks: int) -> None:
    """Take what is known for decisions of the first version, which is even: the next decision renews it."""
    _count(state, shown, 0, pulls, clicks)
    state.counters[EDGE_DECISIONS] += pulls
    state.counters[EDGE_NEXT] = 0


@chance.register(EdgeState)
def _chance(state: EdgeState, shown: Any) -> float:
    result = 1.0
    for factor in range(len(state.sizes)):
        result *= state.chances[state.counters[EDGE_VERSION], state.first[factor] + shown[factor]]
    return result


@view.register(EdgeState)
def _view(state: EdgeState) -> View:
    sums = state.clicks.sum(axis=0).astype(np.int64)
    unknown = np.full(len(sums), np.nan)
    score = state.chances[state.counters[EDGE_VERSION]].copy()
    left = np.ones(len(sums), bool)
    return View("levels", state.pulls.copy(), sums, unknown, unknown, left, "", score=score, scored_by="chance")
