"""Clusters of users who value features the same way, found by Gibbs sampling; Thompson sampling on top of it.

Own policy; the question is that of CLUB (Gentile, Li, Zappella, ICML 2014; here `club`). No bound on regret is proven.

**Model.** User i is of one of C clusters, z_i, with shares rho ~ Dirichlet(1, ..., 1); an item with features x gives a
user of cluster c the payoff x'theta_c plus normal noise of variance s2. theta_c has independent normal numbers of
standard deviation `spread`, s2 is inverse gamma(1, 0.01). That s2 is drawn, too, is essential: with a noise that is
too large all users stay in one cluster.

**Rule.** For user i draw z_i given all theta, rho, s2 and what i got; show the item with the largest x'theta of that
cluster. After every 100 outcomes (20 in the first 2,000) redraw all z, then all theta, rho and s2.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.kernels.policy import Presumed, decide, learn, presume
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals import featured
from rankone.policies.arrivals.featured import Featured, FeaturedPolicy
from rankone.policies.arrivals.users import (
    U_NEXT,
    U_SEEN,
    copy_row,
    draw_normal,
    draw_shares,
    pick_by,
    show_largest,
    user_in,
)

_OFTEN, _SELDOM, _EARLY = 20, 100, 2_000
_NOISE_RATE = 0.01  # of the inverse gamma prior
ML_NOISE, ML_SPREAD = range(2)  # fields of `settings`


@extends(Featured)
class MixtureLinearState:
    """Sums of each user (`Featured`), and the clusters as they were last drawn."""

    theta: Annotated[Floats, "C, d"]
    shares: Annotated[Floats, "C"]  # logarithms of rho
    members: Annotated[Floats, "C"]
    label: Annotated[Ints, "N"]  # z
    settings: Annotated[Floats, "2"]  # s2 and the prior variance of theta
    weights: Annotated[Floats, "C"]  # scratch space
    root: Annotated[Floats, "d, d"]  # scratch space
    drawn: Annotated[Floats, "d"]  # scratch space


@dataclass(frozen=True)
class MixtureLinearTS(FeaturedPolicy):
    """Thompson sampling with clusters of users who value features the same way.

    Args:
        users: how many users there are at most; a study fills it in.
        features: how many features an item has; a study fills it in.
        unit: what an outcome of 1 stands for; None: a click. A study fills it in.
        clusters: how many clusters there are at most; twice too many costs nothing.
        spread: standard deviation of what a feature is worth; None: 1.5 over the root of the number of features.
    """

    name = "mixture-linear-ts"
    use_when = "items with features, and users of a few kinds who return"
    clusters: Annotated[int, "[1, 1000]"] = 8
    spread: Annotated[float | None, "(0, inf)"] = None

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; nothing is known."""
        tables = self.tables(MixtureLinearState, sizes, forbidden)
        spread = 1.5 / math.sqrt(tables["d"]) if self.spread is None else self.spread
        return tables | {"C": self.clusters, "settings": [0.25, spread * spread]}


@noalloc
def _misfit(state: Any, user: int, each: int) -> float:
    """Return the sum of squared errors of a user in a cluster, less that of payoffs."""
    theta, total, d = state.theta[each], 0.0, state.theta.shape[1]
    gram, moment = state.grams[user], state.moments[user]
    for k in range(d):
        row, inner = gram[k], 0.0
        for m in range(d):
            inner += row[m] * theta[m]
        total += theta[k] * (inner - 2.0 * moment[k])
    return total


@noalloc
def _draw_label(state: Any, user: int, rng: Any) -> int:
    for each in range(len(state.weights)):
        state.weights[each] = state.shares[each]
        if state.seen[user, 0] > 0.0:
            state.weights[each] -= _misfit(state, user, each) / (2.0 * state.settings[ML_NOISE])
    return pick_by(state.weights, rng)


@noalloc
def draw_gamma(shape: float, rng: Any) -> float:
    """Draw from a gamma law of a shape of at least 1 (Marsaglia, Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = rng.standard_normal()
        v = (1.0 + c * z) ** 3
        if v > 0.0 and math.log(1.0 - rng.random()) < 0.5 * z * z + d - d * v + d * math.log(v):
            return d * v


@noalloc
def _draw_theta(state: Any, each: int, rng: Any) -> None:
    d, root, drawn, weight = len(state.drawn), state.root, state.drawn, 1.0 / state.settings[ML_NOISE]
    drawn[:], root[:] = 0.0, 0.0
    for k in range(d):
        root[k, k] = 1.0 / state.settings[ML_SPREAD]
    for user in range(len(state.label)):
        if state.label[user] == each and state.seen[user, 0] > 0.0:
            gram, moment = state.grams[user], state.moments[user]
            for k in range(d):
                drawn[k] += weight * moment[k]
                for m in range(k, d):
                    root[k, m] += weight * gram[k, m]
    draw_normal(root, drawn, rng)
    copy_row(state.theta[each], drawn)


@noalloc
def _sweep(state: Any, rng: Any) -> None:
    """Draw all clusters of users, what features are worth to them, their shares, and the noise."""
    count, outcomes, errors = len(state.theta), 0.0, _NOISE_RATE
    state.members[:] = 0.0
    for user in range(len(state.label)):
        state.label[user] = _draw_label(state, user, rng)
        state.members[state.label[user]] += 1.0
    for each in range(count):
        _draw_theta(state, each, rng)
    draw_shares(state.members, state.shares, rng)
    for user in range(len(state.label)):
        outcomes += state.seen[user, 0]
        errors += 0.5 * (state.seen[user, 1] + _misfit(state, user, state.label[user]))
    state.settings[ML_NOISE] = max(errors, 1e-12) / draw_gamma(1.0 + 0.5 * outcomes, rng)


@decide.register(MixtureLinearState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    counters, items = state.counters, len(state.scores)
    if counters[U_SEEN] >= counters[U_NEXT]:
        counters[U_NEXT] = counters[U_SEEN] + (_OFTEN if counters[U_SEEN] < _EARLY else _SELDOM)
        _sweep(state, rng)
    user = user_in(state, context)
    state.label[user] = _draw_label(state, user, rng)
    theta = state.theta[state.label[user]]
    state.scores[:] = 0.0
    for k in range(len(theta)):
        for item in range(items):
            state.scores[item] += theta[k] * context[1 + k * items + item]
    show_largest(state, rng, shown)
    return featured.keep_features(state, user, context, shown)


@learn.register(MixtureLinearState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    featured.add_outcome(state, int(state.kept[tag, 0]), state.kept[tag, 1:], state.unit[0] * outcome[0])
    featured.give_back(state, tag)


featured.recalls(MixtureLinearState, featured.add_outcome)


@presume.register(MixtureLinearState)
def _presume(state: Any, context: Any) -> Presumed:
    return Presumed(state.scores.copy(), f"its cluster {state.label[int(context[0])] + 1} of {len(state.theta)}")
