"""CLUB, clusters of users by cutting a graph: Gentile, Li, Zappella, "Online Clustering of Bandits" (ICML 2014),
section 2, Figure 1.

Each user has M_i = I and b_i = 0; the graph of users is complete at first, or random with edges of probability
3 log(N) / N, drawn until it is connected. For user i, in the connected component V, Mbar = I + sum of (M_u - I) over V
and bbar = sum of b_u; the item with the largest ``wbar'x + alpha sqrt(x' Mbar^-1 x log(t + 1))`` is shown, wbar =
Mbar^-1 bbar. Then M_i += x x' and b_i += y x, and each edge (i, l) is cut for good where
``|w_i - w_l| > alpha2 (F(T_i) + F(T_l))``, F(T) = sqrt((1 + log(1 + T)) / (1 + T)), with w = M^-1 b and T, the outcomes
of each, as they were before this one.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import Presumed, decide, learn, presume
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.policies.arrivals import featured
from rankone.policies.arrivals.featured import FT_ASKED, Featured, FeaturedPolicy
from rankone.policies.arrivals.users import show_largest, user_in
from rankone.policies.engines.regression import set_root, solve_down, solve_up

_MOST_USERS = 10_000  # the graph has a place for each two
CLUB_ALPHA, CLUB_ALPHA2, CLUB_RANDOM = range(3)  # fields of `settings`


@extends(Featured)
class CLUBState:
    """Sums of each user (`Featured`), the graph, and the sums of its components."""

    edges: Annotated[Mask, "N, N"]
    component: Annotated[Ints, "N"]
    members: Annotated[Ints, "N"]  # of each component
    inverse: Annotated[Floats, "N, d, d"]  # M_i^-1
    vector: Annotated[Floats, "N, d"]  # w_i
    pooled: Annotated[Floats, "N, d, d"]  # Mbar^-1 of each component
    total: Annotated[Floats, "N, d"]  # bbar
    settings: Annotated[Floats, "3"]
    queue: Annotated[Ints, "2, N"]  # scratch space: users to visit, and those not reached yet
    work: Annotated[Floats, "2, d"]  # scratch space
    root: Annotated[Floats, "d, d"]  # scratch space


@dataclass(frozen=True)
class CLUB(FeaturedPolicy):
    """Linear bandits for clusters of users, found by cutting edges between users who differ.

    Args:
        users: how many users there are at most; a study fills it in.
        features: how many features an item has; a study fills it in.
        unit: what an outcome of 1 stands for; None: a click. A study fills it in.
        alpha: width of the confidence bound.
        alpha2: how far vectors of neighbours may be apart.
        graph: ``complete`` or ``random`` at first.
    """

    name = "club"
    use_when = "a reference: clusters of users, items with features, and time to tune alpha and alpha2"
    alpha: Annotated[float, "[0, inf)"] = 0.1
    alpha2: Annotated[float, "[0, inf]"] = 0.5
    graph: Annotated[Literal["complete", "random"], ("complete", "random")] = "complete"

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start: all users are one component."""
        tables = self.tables(CLUBState, sizes, forbidden)
        users, identity = tables["N"], np.eye(tables["d"])
        if users > _MOST_USERS:
            raise InputError(f"at most {_MOST_USERS:,} users for club", f"{users:,}", "choose 'mixture-linear-ts'")
        settings = [self.alpha, self.alpha2, float(self.graph == "random")]
        graph = {"edges": ~np.eye(users, dtype=bool), "members": [users] + [0] * (users - 1)}
        return tables | graph | {"grams": identity, "inverse": identity, "pooled": identity, "settings": settings}


@noalloc
def _reach(state: Any, start: int, left: int) -> int:
    """Go from a user to all connected ones among the first `left` of ``queue[1]``; those reached are in ``queue[0]``.

    Return how many are reached; those not reached stay in ``queue[1]``, in front.
    """
    reached, unreached = state.queue[0], state.queue[1]
    reached[0], count, first = start, 1, 0
    while first < count:
        row, kept = state.edges[reached[first]], 0
        for index in range(left):
            other = unreached[index]
            if other == start:
                continue
            if row[other]:
                reached[count] = other
                count += 1
            else:
                unreached[kept] = other
                kept += 1
        left = kept
        first += 1
    return count


@noalloc
def _draw_graph(state: Any, rng: Any) -> None:
    n = len(state.edges)
    chance, count = min(1.0, 3.0 * math.log(max(n, 2)) / n), 0
    while count < n:
        for one in range(n):
            state.queue[1, one] = one
            for other in range(one):
                state.edges[one, other] = state.edges[other, one] = rng.random() < chance
        count = _reach(state, 0, n)


@noalloc
def _pool(state: Any, number: int) -> None:
    """Compute the sums of a component afresh."""
    root, work, d = state.root, state.work[0], state.vector.shape[1]
    state.total[number, :], root[:] = 0.0, 0.0
    for k in range(d):
        root[k, k] = 1.0
    for user in range(len(state.component)):
        if state.component[user] == number:
            for k in range(d):
                state.total[number, k] += state.moments[user, k]
                root[k, k] -= 1.0
                for m in range(k, d):
                    root[k, m] += state.grams[user, k, m]
    set_root(root)
    for column in range(d):
        for k in range(d):
            work[k] = 1.0 if k == column else 0.0
        solve_down(root, work)
        solve_up(root, work)
        for k in range(d):
            state.pooled[number, k, column] = work[k]


@noalloc
def _split(state: Any, user: int) -> None:
    """See whether the component of a user has fallen apart, and give each part sums of its own."""
    old, n = state.component[user], len(state.component)
    left = 0
    for other in range(n):
        if state.component[other] == old:
            state.queue[1, left] = other
            left += 1
    start, number = user, 0
    while left > 0:
        count = _reach(state, start, left)
        if count == left:
            if count < state.members[old]:
                state.members[old] = count
                _pool(state, old)
            return
        while state.members[number] > 0:
            number += 1
        for index in range(count):
            state.component[state.queue[0, index]] = number
        state.members[number] = count
        _pool(state, number)
        left -= count
        start = state.queue[1, 0]


@noalloc
def _add_inverse(inverse: Floats, x: Floats, work: Floats) -> None:
    """Change the inverse of a matrix to that of the matrix plus x x' (Sherman, Morrison)."""
    d, total = len(x), 1.0
    for k in range(d):
        value = 0.0
        for m in range(d):
            value += inverse[k, m] * x[m]
        work[k] = value
        total += value * x[k]
    for k in range(d):
        scaled = work[k] / total
        for m in range(d):
            inverse[k, m] -= scaled * work[m]


@noalloc
def _nearness(outcomes: float) -> float:
    return math.sqrt((1.0 + math.log(1.0 + outcomes)) / (1.0 + outcomes))


@noalloc
def _cut(state: Any, user: int) -> bool:
    """Cut the edges of a user to those who differ; return whether one was cut."""
    found, d, alpha2 = False, state.vector.shape[1], state.settings[CLUB_ALPHA2]
    own, near = state.vector[user], _nearness(state.seen[user, 0])
    for other in range(len(state.edges)):
        if state.edges[user, other]:
            distance, vector = 0.0, state.vector[other]
            for k in range(d):
                distance += (own[k] - vector[k]) ** 2
            if math.sqrt(distance) > alpha2 * (near + _nearness(state.seen[other, 0])):
                state.edges[user, other] = state.edges[other, user] = False
                found = True
    return found


@noalloc
def _record(state: Any, user: int, x: Floats, payoff: float) -> None:
    """Learn an outcome: sums, then edges by what was known before, then the vector."""
    number, d = state.component[user], len(x)
    parted = _cut(state, user)
    featured.add_outcome(state, user, x, payoff)
    _add_inverse(state.pooled[number], x, state.work[0])
    _add_inverse(state.inverse[user], x, state.work[0])
    for k in range(d):
        state.total[number, k] += payoff * x[k]
        value = 0.0
        for m in range(d):
            value += state.inverse[user, k, m] * state.moments[user, m]
        state.vector[user, k] = value
    if parted:
        _split(state, user)


@decide.register(CLUBState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    items, d = len(state.scores), state.vector.shape[1]
    if state.counters[FT_ASKED] == 0 and state.settings[CLUB_RANDOM] > 0.0:
        _draw_graph(state, rng)
    user = user_in(state, context)
    number = state.component[user]
    pooled, x, mean = state.pooled[number], state.work[0], state.work[1]
    for k in range(d):
        mean[k] = 0.0
        for m in range(d):
            mean[k] += pooled[k, m] * state.total[number, m]
    width = state.settings[CLUB_ALPHA] * math.sqrt(math.log(state.counters[FT_ASKED] + 2.0))
    for item in range(items):
        score, square = 0.0, 0.0
        for k in range(d):
            x[k] = context[1 + k * items + item]
        for k in range(d):
            inner = 0.0
            for m in range(d):
                inner += pooled[k, m] * x[m]
            square += x[k] * inner
            score += mean[k] * x[k]
        state.scores[item] = score + width * math.sqrt(max(square, 0.0))
    show_largest(state, rng, shown)
    return featured.keep_features(state, user, context, shown)


@learn.register(CLUBState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    _record(state, int(state.kept[tag, 0]), state.kept[tag, 1:], state.unit[0] * outcome[0])
    featured.give_back(state, tag)


featured.recalls(CLUBState, _record)


@presume.register(CLUBState)
def _presume(state: Any, context: Any) -> Presumed:
    alike = state.members[state.component[int(context[0])]]
    return Presumed(state.scores.copy(), f"a cluster of {alike:,} of {len(state.members):,} users")
