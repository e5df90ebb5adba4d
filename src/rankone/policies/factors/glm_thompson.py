"""Thompson sampling in a Bayesian logistic regression: what multivariate tests with bandits mostly use.

Hill, Nassif, Liu, Iyer, Vishwanathan, "An Efficient Bandit Algorithm for Realtime Multivariate Optimization" (KDD
2017), sections 3 and 4, with the logistic function in place of theirs and without context. The logit of a combination's
click rate is a sum of weights: an intercept and one a level (their MVT1). Each decision draws all weights from their
posterior and shows the level with the largest weight in each factor; where that is forbidden, the best of all
combinations of the factors that rules name.

The posterior is kept as a normal distribution. For c clicks of n outcomes of a combination with features f, whose sum
of weights has the mean x and the variance s2, Laplace's method needs one number: e = x + s2 (c - n sigma(e)). Then
``mean += v (e - x) / s2`` and ``covariance -= w / (1 + w s2) v v'`` with v = covariance f and w = n sigma'(e). A square
root R of the covariance is kept instead of it, which Potter's update (Kaminski, Bryson, Schmidt 1971) changes by
``R -= a v (R' f)'``, a = (1 - 1 / sqrt(1 + w s2)) / s2: it draws weights as mean + R z.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.policies.base import Policy
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import ANY, may_show, number_of
from rankone.policies.engines.logistic import most_probable

_MOST_WEIGHTS = 2_000  # the square root of their covariance then takes 32 megabytes
_MOST_NAMED = 10_000  # combinations of the factors that rules name: all are gone through where the best is forbidden
_OF_INTERCEPT, _OF_LEVEL = 1.0, 0.5  # standard deviations before anything is known


class GLMState(NamedTuple):
    """The posterior of the weights: the intercept, then levels factor by factor."""

    mean: Floats  # (weights,)
    root: Floats  # (weights, weights) its product with its transpose is the covariance
    drawn: Floats  # (weights,) the last draw
    along: Floats  # (2, weights) room to work in: R' f and R R' f
    features: Ints  # (1 + D,) the weights of a combination, to work in
    sizes: Ints  # (D,)
    first: Ints  # (D,) the weight of each factor's first level
    forbidden: Ints  # (rules, D)
    named: Ints  # (D,) is the factor named by a rule?
    best: Ints  # (2, D) combinations to work on


@dataclass(frozen=True)
class GLMThompson(CombinationPolicy):
    """Thompson sampling in a logistic regression with an effect for each level.

    Args:
        base: click rate to be expected before anything is known.
    """

    base: Annotated[float, "(0, 1)"] = 0.05
    name = "glm-thompson"
    use_when = "a baseline for many combinations clicked below a tenth of the time; at higher rates its model is wrong"

    def _begin(self, sizes: Ints, forbidden: Ints) -> GLMState:
        first = 1 + starts_of(sizes)
        weights = int(first[-1])
        if weights > _MOST_WEIGHTS:
            do = "leave levels out, or choose 'uts'"
            raise InputError(f"at most {_MOST_WEIGHTS:,} effects for {self.name}", f"{weights:,}", do)
        mean, spread = np.zeros(weights), np.full(weights, _OF_LEVEL)
        mean[0], spread[0] = math.log(self.base / (1.0 - self.base)), _OF_INTERCEPT
        return GLMState(
            mean=mean,
            root=np.diag(spread),
            drawn=mean.copy(),
            along=np.zeros((2, weights)),
            features=np.zeros(1 + len(sizes), np.int64),
            sizes=sizes,
            first=first[:-1],
            forbidden=forbidden,
            named=checked_named(self, sizes, forbidden),
            best=np.zeros((2, len(sizes)), np.int64),
        )


def checked_named(policy: Policy, sizes: Ints, forbidden: Ints) -> Ints:
    """Return for each factor whether rules name it; refuse more combinations of those that are than can be compared."""
    named = (forbidden != ANY).any(axis=0)
    if (count := math.prod(sizes[named].tolist())) > _MOST_NAMED:
        expected = f"rules whose factors have at most {_MOST_NAMED:,} combinations together for {policy.name}"
        raise InputError(expected, f"{count:,}", "let rules name fewer factors, or choose 'uts'")
    return named.astype(np.int64)


@noalloc
def draw_weights(state: GLMState, rng: Any) -> None:
    """Draw all weights from their posterior."""
    z, n = state.along[0], len(state.mean)
    for index in range(n):
        z[index] = rng.standard_normal()
    for index in range(n):
        total = state.mean[index]
        for other in range(n):
            total += state.root[index, other] * z[other]
        state.drawn[index] = total


@noalloc
def go_on(state: Any, tried: Any) -> bool:
    """Turn a combination of the factors that rules name into the next one, like an odometer; False after the last."""
    for factor in range(len(state.sizes)):
        if state.named[factor]:
            tried[factor] += 1
            if tried[factor] < state.sizes[factor]:
                return True
            tried[factor] = 0
    return False


@noalloc
def find_best_levels(state: Any, levels: Any) -> None:
    """Fill in the level with the largest weight of each factor; where that is forbidden, the best that is not."""
    for factor in range(len(state.sizes)):
        levels[factor] = 0
        for level in range(1, state.sizes[factor]):
            if state.drawn[state.first[factor] + level] > state.drawn[state.first[factor] + levels[factor]]:
                levels[factor] = level
    if may_show(state, number_of(state.sizes, levels)):
        return
    tried, largest, more = state.best[1], -math.inf, True
    for factor in range(len(state.sizes)):
        tried[factor] = 0 if state.named[factor] else levels[factor]
    while more:
        worth = 0.0
        for factor in range(len(state.sizes)):
            worth += state.drawn[state.first[factor] + tried[factor]]
        if worth > largest and may_show(state, number_of(state.sizes, tried)):
            largest = worth
            for factor in range(len(state.sizes)):
                levels[factor] = tried[factor]
        more = go_on(state, tried)


@decide.register(GLMState)
def _decide(state: GLMState, context: Any, rng: Any, shown: Any) -> int:
    draw_weights(state, rng)
    find_best_levels(state, shown)
    return 0


@noalloc
def find_features(state: GLMState, shown: Any) -> None:
    """Fill in which weights a combination has."""
    state.features[0] = 0
    for factor in range(len(state.sizes)):
        state.features[1 + factor] = state.first[factor] + shown[factor]


@noalloc
def record_outcomes(state: GLMState, shown: Any, pulls: int, clicks: int) -> None:
    """Move the posterior by outcomes of one combination."""
    find_features(state, shown)
    features, n, count = state.features, len(state.mean), len(state.features)
    back, moved = state.along[0], state.along[1]
    mean = variance = 0.0
    for index in range(count):
        mean += state.mean[features[index]]
    for index in range(n):
        back[index] = 0.0
        for feature in range(count):
            back[index] += state.root[features[feature], index]
        variance += back[index] * back[index]
    if variance <= 0.0:
        return
    result = most_probable(mean, variance, pulls, clicks)
    rate = 1.0 / (1.0 + math.exp(-result))
    shrunk = (1.0 - 1.0 / math.sqrt(1.0 + pulls * rate * (1.0 - rate) * variance)) / variance
    for index in range(n):
        total = 0.0
        for other in range(n):
            total += state.root[index, other] * back[other]
        moved[index] = total
    for index in range(n):
        state.mean[index] += moved[index] * (result - mean) / variance
        for other in range(n):
            state.root[index, other] -= shrunk * moved[index] * back[other]


@learn.register(GLMState)
def _learn(state: GLMState, shown: Any, tag: int, outcome: Any) -> None:
    record_outcomes(state, shown, 1, outcome[0])


@relearn.register(GLMState)
def _relearn(state: GLMState, shown: Any, pulls: int, clicks: int) -> None:
    if pulls > 0:
        record_outcomes(state, shown, pulls, clicks)
