"""Thompson sampling in a Bayesian logistic regression: what multivariate tests with bandits mostly use.

Hill, Nassif, Liu, Iyer, Vishwanathan, "An Efficient Bandit Algorithm for Realtime Multivariate Optimization" (KDD
2017), sections 3 and 4, with the logistic function in place of theirs, the normal distribution's, and without context.
The logit of a combination's click rate is a sum of weights: an intercept, one a level (their MVT1), with `pairs` also
one for every two levels of different factors (MVT2). Each decision draws all weights from their posterior and shows the
combination with the largest sum:

* of single levels exactly: the level with the largest weight in each factor (where that is forbidden: the best of all
  combinations of the factors that rules name);
* with pairs by hill climbing: from random starts, set one factor after the other to its best level given the others,
  until no single change helps; the best of the starts is shown. (The paper changes factors at random, a given number of
  times.)

The posterior is kept as a normal distribution. For c clicks of n outcomes of a combination with features f, whose sum
of weights has the mean x and the variance s2, Laplace's method needs one number: e = x + s2 (c - n sigma(e)), by
Newton's method. Then ``mean += v (e - x) / s2`` and ``covariance -= w / (1 + w s2) v v'`` with v = covariance f and
w = n sigma'(e). A square root R of the covariance, R R' = covariance, is kept instead of it, which Potter's update
(Kaminski, Bryson, Schmidt 1971) changes by ``R -= a v (R' f)'``, a = (1 - 1 / sqrt(1 + w s2)) / s2: it draws weights
as mean + R z, and no rounding can make a variance negative.

A product of factors is a sum of weights on the log scale, not on the logit scale. Below click rates of about a tenth
these are nearly the same; above, the model is wrong, and nothing assures that the policy finds the best
(`docs/more-than-two-factors.md` says what was measured).
"""

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints, starts_of
from rankone.policies.base import Policy
from rankone.policies.combination_policy import CombinationPolicy, first_allowed
from rankone.policies.engines.combinations import ANY, may_show, number_of, write_levels
from rankone.policies.engines.logistic import most_probable

_MOST_WEIGHTS = 2_000  # the square root of their covariance then takes 32 megabytes
_MOST_NAMED = 10_000  # combinations of the factors that rules name: all are gone through where the best is forbidden
_OF_INTERCEPT, _OF_LEVEL, _OF_PAIR = 1.0, 0.5, 0.3  # standard deviations before anything is known
_STARTS, _TRIES = 5, 50


class GLMState(NamedTuple):
    """The posterior of the weights: the intercept, levels factor by factor, then pairs of levels."""

    mean: Floats  # (weights,)
    root: Floats  # (weights, weights) its product with its transpose is the covariance
    drawn: Floats  # (weights,) the last draw
    along: Floats  # (2, weights) room to work in: R' f and R R' f
    features: Ints  # (1 + D + D (D - 1) / 2,) the weights of a combination, to work in
    sizes: Ints  # (D,)
    first: Ints  # (D,) the weight of each factor's first level
    first_pair: Ints  # (D, D) the weight of the first pair of two factors' levels; 0: there are none
    forbidden: Ints  # (rules, D)
    named: Ints  # (D,) is the factor named by a rule?
    best: Ints  # (2, D) combinations to work on
    instead: Ints  # (1,) a combination that may be shown


@dataclass(frozen=True)
class GLMThompson(CombinationPolicy):
    """Thompson sampling in a logistic regression with an effect for each level, or for each pair of levels too.

    Args:
        pairs: whether any two levels of different factors have an effect together, too.
        base: click rate to be expected before anything is known.
    """

    pairs: bool = False
    base: Annotated[float, "(0, 1)"] = 0.05
    name = "glm-thompson"
    use_when = "a baseline for many combinations clicked below a tenth of the time; at higher rates its model is wrong"

    def _begin(self, sizes: Ints, forbidden: Ints) -> GLMState:
        n_factors, first = len(sizes), 1 + starts_of(sizes)
        first_pair, weights = np.zeros((n_factors, n_factors), np.int64), int(first[-1])
        if self.pairs:
            for one, other in itertools.combinations(range(n_factors), 2):
                first_pair[one, other] = first_pair[other, one] = weights
                weights += int(sizes[one] * sizes[other])
        if weights > _MOST_WEIGHTS:
            do = "leave levels out, or pairs=true" if self.pairs else "leave levels out, or choose 'uts'"
            raise InputError(f"at most {_MOST_WEIGHTS:,} effects for {self.name}", f"{weights:,}", do)
        mean, spread = np.zeros(weights), np.full(weights, _OF_PAIR)
        mean[0], spread[0], spread[1 : first[-1]] = math.log(self.base / (1.0 - self.base)), _OF_INTERCEPT, _OF_LEVEL
        n_features = 1 + n_factors + (n_factors * (n_factors - 1) // 2 if self.pairs else 0)
        return GLMState(
            mean=mean,
            root=np.diag(spread),
            drawn=mean.copy(),
            along=np.zeros((2, weights)),
            features=np.zeros(n_features, np.int64),
            sizes=sizes,
            first=first[:-1],
            first_pair=first_pair,
            forbidden=forbidden,
            named=checked_named(self, sizes, forbidden, math.inf if self.pairs else _MOST_NAMED),
            best=np.zeros((2, n_factors), np.int64),
            instead=np.array([first_allowed(sizes, forbidden)]),
        )


def checked_named(policy: Policy, sizes: Ints, forbidden: Ints, most: float = _MOST_NAMED) -> Ints:
    """Return for each factor whether rules name it; refuse more combinations of those that are than can be compared."""
    named = (forbidden != ANY).any(axis=0)
    if (count := math.prod(sizes[named].tolist())) > most:
        expected = f"rules whose factors have at most {most:,} combinations together for {policy.name}"
        raise InputError(expected, f"{count:,}", "let rules name fewer factors, or choose 'uts'")
    return named.astype(np.int64)


@noalloc
def pair_weight(state: GLMState, one: int, level: int, other: int, its: int) -> int:
    """Return the place of the weight of two levels, of any two factors."""
    if one < other:
        return state.first_pair[one, other] + level * state.sizes[other] + its
    return state.first_pair[one, other] + its * state.sizes[one] + level


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
def level_worth(state: GLMState, levels: Any, factor: int, level: int) -> float:
    """Return what a level of one factor adds to the sum, given the levels of the others."""
    worth = state.drawn[state.first[factor] + level]
    if len(state.features) > 1 + len(state.sizes):
        for other in range(len(state.sizes)):
            if other != factor:
                worth += state.drawn[pair_weight(state, factor, level, other, levels[other])]
    return worth


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


@noalloc
def draw_start(state: GLMState, rng: Any, levels: Any) -> None:
    """Fill in a random combination that may be shown."""
    for _ in range(_TRIES):
        for factor in range(len(state.sizes)):
            levels[factor] = int(rng.random() * state.sizes[factor])
        if may_show(state, number_of(state.sizes, levels)):
            return
    write_levels(state.sizes, state.instead[0], levels)


@noalloc
def climb(state: GLMState, levels: Any) -> float:
    """Set factors to their best levels, given the others, until no single change helps; return the sum of weights."""
    same, factor = 0, 0
    while same < len(state.sizes):
        own = levels[factor]
        best, largest = own, level_worth(state, levels, factor, own)
        for level in range(state.sizes[factor]):
            worth = level_worth(state, levels, factor, level)
            levels[factor] = level
            if worth > largest and may_show(state, number_of(state.sizes, levels)):
                best, largest = level, worth
        levels[factor] = best
        same = same + 1 if best == own else 1
        factor = 0 if factor + 1 == len(state.sizes) else factor + 1
    total = 0.0
    for index in range(len(state.sizes)):
        total += state.drawn[state.first[index] + levels[index]]
        for other in range(index):
            total += state.drawn[pair_weight(state, index, levels[index], other, levels[other])]
    return total


@decide.register(GLMState)
def _decide(state: GLMState, context: Any, rng: Any, shown: Any) -> int:
    draw_weights(state, rng)
    if len(state.features) == 1 + len(state.sizes):
        find_best_levels(state, shown)
        return 0
    largest = -math.inf
    for _ in range(_STARTS):
        draw_start(state, rng, state.best[0])
        reached = climb(state, state.best[0])
        if reached > largest:
            largest = reached
            for factor in range(len(state.sizes)):
                shown[factor] = state.best[0, factor]
    return 0


@noalloc
def find_features(state: GLMState, shown: Any) -> None:
    """Fill in which weights a combination has."""
    features, n_factors = state.features, len(state.sizes)
    features[0], count = 0, 1
    for factor in range(n_factors):
        features[count] = state.first[factor] + shown[factor]
        count += 1
    if len(features) > count:
        for factor in range(n_factors):
            for other in range(factor):
                features[count] = pair_weight(state, factor, shown[factor], other, shown[other])
                count += 1


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
