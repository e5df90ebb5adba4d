"""Thompson sampling in a logistic regression on the levels of factors and the features of visitors: as
`cascade-logit-ts`, for combinations (Chapelle, Li, "An Empirical Evaluation of Thompson Sampling", NIPS 2011, section
4; Hill et al., KDD 2017, section 3, with context).

The logit of the click rate is an intercept, one effect a level, one a feature of the visitor, and one for each feature
with each level. Each decision draws all effects once, with `alpha` times the standard deviations of the belief; given
the visitor they are a sum over factors, so each factor shows its best level; where rules forbid that, all combinations
of the factors that they name are compared. Effects of levels together are not in the model.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import Presumed, decide, learn, presume, relearn, set_context
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.policies.base import AtLeast0
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.logistic import LogisticState, fit_when_grown, note_cell, record_clicks
from rankone.policies.engines.regression import (
    REG_ASKED,
    REG_CHANGED,
    REG_FREE,
    REG_LEARNED,
    draw_weights,
    release,
    start_regression,
)
from rankone.policies.factors.glm_thompson import checked_named, find_best_levels
from rankone.specs import whole_number

_MOST_EFFECTS = 2_000
_MOST_CELLS, _MOST_KEPT = 4_096, 1 << 20  # visitors with combinations that are counted; numbers to keep of them
_TRIES = 32


@extends(LogisticState)
class LogitCombinationState:
    """Beliefs about effects, ``(1 + d) * (1 + levels)`` of them: of nothing and each feature, alone and with levels."""

    first: Ints  # (D,) where the levels of each factor begin, from 1
    visitor: Floats  # (1 + d,) a 1, and the features of whom outcomes are about that are learned anew
    sizes: Ints
    forbidden: Ints
    named: Ints  # this and the others as in `glm-thompson`
    best: Ints
    drawn: Floats


@dataclass(frozen=True)
class LogitTS(CombinationPolicy):
    """Thompson sampling in a logistic regression on levels, features of visitors, and both together.

    Args:
        alpha: width of the draw, in standard deviations: 1 is Thompson sampling, 0 greedy.
        main: standard deviation of the effect of a level or a feature, before anything is known.
        crossed: the same of a feature together with a level.
        base: click rate to be expected before anything is known.
        features: how many features a visitor has; a study fills it in.
    """

    name = "logit-ts"
    use_when = "combinations for visitors with features, which may change what is best"
    uses_context = True
    alpha: AtLeast0 = 0.5
    main: Annotated[float, "(0, inf)"] = 0.5
    crossed: Annotated[float, "(0, inf)"] = 0.3
    base: Annotated[float, "(0, 1)"] = 0.05
    features: Annotated[int | None, "[1, inf)"] = None

    def _begin(self, sizes: Ints, forbidden: Ints) -> LogitCombinationState:
        if self.features is None:
            do = "play a problem that has them, such as visitors:5x4:d=5, or choose a policy without, such as uts"
            raise InputError(f"visitors with features for {self.name}", "none", do)
        levels = int(sizes.sum())
        spread = np.full((1 + whole_number("features", self.features), 1 + levels), self.crossed)
        spread[0], spread[:, 0], mean = self.main, self.main, np.zeros(spread.shape)
        spread[0, 0], mean[0, 0] = 1.0, math.log(self.base / (1.0 - self.base))
        if spread.size > _MOST_EFFECTS:
            raise InputError(f"at most {_MOST_EFFECTS:,} effects", f"{spread.size:,}", "leave levels or features out")
        prior = mean.ravel(), spread.ravel() ** -2
        state = start_regression(
            LogisticState, min(_MOST_CELLS, _MOST_KEPT // mean.size), 1, *prior, [self.alpha], fits=True
        )
        visitor = np.zeros(1 + self.features)
        visitor[0] = 1.0
        named, first, best = checked_named(self, sizes, forbidden), 1 + starts_of(sizes)[:-1], np.zeros((2, len(sizes)))
        own = first, visitor, sizes, forbidden, named, best.astype(np.int64), np.zeros(1 + levels)
        return LogitCombinationState(*state, *own)  # type: ignore[call-arg]


@noalloc
def _set_features(state: Any, x: Floats, visitor: Any, skip: int, shown: Any) -> None:
    """Fill in the features of a combination for a visitor, whose own begin at `skip`."""
    width = len(state.drawn)
    x[:] = 0.0
    for row in range(len(state.visitor)):
        value = 1.0 if row == 0 else visitor[row - 1 + skip]
        start = row * width
        x[start] = value
        for factor in range(len(shown)):
            x[start + state.first[factor] + shown[factor]] = value


@decide.register(LogitCombinationState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    draw_weights(state, 0, state.settings[0], rng)
    counters, worth, width = state.counters, state.drawn, len(state.drawn)
    for level in range(1, width):
        worth[level] = state.work[0, level]
        for k in range(len(state.visitor) - 1):
            worth[level] += context[k] * state.work[0, (1 + k) * width + level]
    find_best_levels(state, shown)
    counters[REG_ASKED] += 1
    counters[REG_FREE] -= 1
    slot = state.free[counters[REG_FREE]]
    _set_features(state, state.kept[slot, 0], context, 0, shown)
    return slot


@noalloc
def _cell_of(state: Any, x: Floats) -> int:
    """Return the place of a visitor with a combination among the counts, an empty one if it is new; -1: none left."""
    d, key = len(x), 0
    for k in range(d):
        if x[k] != 0.0:
            key = (key * 31 + k * 7 + int(x[k] * 1024.0)) % 1_000_000_007
    for attempt in range(_TRIES):
        index = (key + attempt) % len(state.cells)
        same = True
        if state.cells[index, d] > 0.0:
            for k in range(d):
                same &= state.cells[index, k] == x[k]
        if same:
            return index
    return -1


@noalloc
def _record(state: Any, x: Floats, pulls: int, clicks: int) -> None:
    record_clicks(state, x, pulls, clicks)
    if state.counters[REG_CHANGED] == 0:
        index = _cell_of(state, x)
        if index < 0:  # visitors hardly come twice: what was learned one by one has to do
            state.counters[REG_CHANGED] = 1
        else:
            note_cell(state, index, x, pulls, clicks)


@learn.register(LogitCombinationState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    _record(state, state.kept[tag, 0], 1, outcome[0])
    release(state, tag)
    fit_when_grown(state)


@set_context.register(LogitCombinationState)
def _set_context(state: Any, context: Any) -> None:
    for k in range(len(state.visitor) - 1):
        state.visitor[1 + k] = context[k] if k < len(context) else 0.0


@relearn.register(LogitCombinationState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    if pulls > 0:
        x = state.kept[state.free[0], 0]  # free, and never the next
        _set_features(state, x, state.visitor, 1, shown)
        _record(state, x, pulls, clicks)
        state.counters[REG_LEARNED] += pulls


@presume.register(LogitCombinationState)
def _presume(state: Any, context: Any) -> Presumed:
    worth = np.insert(context, 0, 1.0) @ state.work[0].reshape(len(state.visitor), -1)
    logits = worth[:1]
    for first, size in zip(state.first, state.sizes, strict=True):
        logits = np.add.outer(logits, worth[first : first + size]).ravel()
    return Presumed(1.0 / (1.0 + np.exp(-logits)))
