"""One bandit for each factor: what many people build by hand, and a warning.

Every level draws from Beta(clicks + 1, misses + 1) of all decisions in which it was shown, whatever it was shown with;
the largest draws are shown together. It learns fast at first, and it locks in: a good level that was shown early, while
its partners were bad, looks bad (`docs/more-than-two-factors.md`: 5 to 30% of the runs on harder problems).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.numerics.arrays import Ints, starts_of
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.combination_policy import CombinationPolicy, first_allowed
from rankone.policies.engines.combinations import may_show, number_of, write_levels

_TRIES = 50


class PerFactorState(NamedTuple):
    """Counts of every level, factor by factor."""

    pulls: Ints  # (levels of all factors,)
    clicks: Ints
    sizes: Ints  # (D,)
    first: Ints  # (D,) where the levels of each factor begin
    forbidden: Ints  # (rules, D)
    instead: Ints  # (1,) a combination that may be shown


@dataclass(frozen=True)
class PerFactor(CombinationPolicy):
    """One Thompson sampler per factor, each for itself: best at first, and some runs never recover."""

    name = "per-factor"
    use_when = "a warning: what is often built by hand; in 5 to 30% of runs it never finds the best"

    def _begin(self, sizes: Ints, forbidden: Ints) -> PerFactorState:
        pulls, clicks = np.zeros((2, sizes.sum()), np.int64)
        return PerFactorState(
            pulls, clicks, sizes, starts_of(sizes)[:-1], forbidden, np.array([first_allowed(sizes, forbidden)])
        )


@decide.register(PerFactorState)
def _decide(state: PerFactorState, context: Any, rng: Any, shown: Any) -> int:
    for _ in range(_TRIES):
        for factor in range(len(state.sizes)):
            largest = -1.0
            for level in range(state.sizes[factor]):
                index = state.first[factor] + level
                draw = draw_beta(state.pulls[index], state.clicks[index], rng)
                if draw > largest:
                    largest, shown[factor] = draw, level
        if may_show(state, number_of(state.sizes, shown)):
            return 0
    write_levels(state.sizes, state.instead[0], shown)
    return 0


@inlined
def _count(state: PerFactorState, shown: Any, pulls: int, clicks: int) -> None:
    for factor in range(len(state.sizes)):
        index = state.first[factor] + shown[factor]
        state.pulls[index] += pulls
        state.clicks[index] += clicks


@learn.register(PerFactorState)
def _learn(state: PerFactorState, shown: Any, tag: int, outcome: Any) -> None:
    _count(state, shown, 1, outcome[0])


@relearn.register(PerFactorState)
def _relearn(state: PerFactorState, shown: Any, pulls: int, clicks: int) -> None:
    _count(state, shown, pulls, clicks)


@view.register(PerFactorState)
def _view(state: PerFactorState) -> View:
    mean = (state.clicks + 1.0) / (state.pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (state.pulls + 3.0))
    left = np.ones(len(mean), bool)
    interval = "posterior mean ± 2 standard deviations"
    return View("levels", state.pulls.copy(), state.clicks.copy(), mean - width, mean + width, left, interval)
