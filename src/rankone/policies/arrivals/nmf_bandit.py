"""NMF-bandit: Sen, Shanmugam, Kocaoglu, Dimakis, Shakkottai, "Contextual Bandits with Latent Confounders: An NMF
Approach" (AISTATS 2017), Algorithm 2, with successive projection (Araujo et al. 2001) in the place of Hottopix.

**Model.** The click rates are A W: a row of A, on the simplex, for each user, a row of W for each of m classes; some
users are of one class alone.

**Rule.** S are 2m' items; items are cut into groups of m, and each group has 2m' users of its own. All are drawn once.
With probability min(1, theta (2m' + m) / (beta t)) explore at visit t: with probability 2m' / (2m' + m) an item of S,
else one of the user's group (any, for users of no group). Else exploit: the m users who are furthest from each other on
S are taken for the classes, A is fit to S, row by row on the simplex, W to the items of each group from its users, by
least squares, and the item with the largest click rate in A W is shown. Only outcomes of exploration count.

The paper has theta = 3 and m' = 2m. Its beta is the probability of the rarest user; here all come equally often unless
it is said. It fits before each decision; we fit after 1, 2, 4, ... outcomes, then each time as many came as there are
users. Rates of cells that nobody has explored are taken to be the mean of all.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import Presumed, decide, learn, presume, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.users import (
    U_NEXT,
    U_SEEN,
    U_WHOSE,
    UserPolicy,
    Users,
    copy_row,
    show_largest,
    user_in,
)
from rankone.policies.engines.combinations import number_of
from rankone.policies.engines.regression import set_root, solve_down, solve_up

_STEPS = 100  # of a fit on the simplex
_RIDGE = 1e-6
NMF_THETA, NMF_BETA = range(2)  # fields of `settings`


@extends(Users)
class NMFState:
    """Explored outcomes of each user and item, and the factors as they were last fit."""

    pulls: Annotated[Floats, "N, M"]
    clicks: Annotated[Floats, "N, M"]
    anchors: Annotated[Ints, "S"]  # items of S; -1: not drawn yet
    group: Annotated[Ints, "N"]  # -1: none
    mixing: Annotated[Floats, "N, m"]  # A
    rates: Annotated[Floats, "m, M"]  # W
    settings: Annotated[Floats, "2"]
    rest: Annotated[Floats, "N, S"]  # scratch space
    order: Annotated[Ints, "N+M"]  # scratch space
    gram: Annotated[Floats, "m, m"]  # scratch space
    work: Annotated[Floats, "2, m"]  # scratch space


@dataclass(frozen=True)
class NMFBandit(UserPolicy):
    """Mixtures of classes by forced exploration and a factorisation.

    Args:
        users: how many users there are at most; a study fills it in.
        classes: how many classes there are: m.
        anchors: half of the items that all users explore: m'; None: 2m, or as many as users and items allow.
        theta: how much is explored.
        beta: probability of the user who comes most rarely; None: all come equally often.
    """

    name = "nmf-bandit"
    use_when = "a reference: mixtures of classes, with far more visits than any policy here needs"
    by_segment = True
    classes: Annotated[int, "[1, 1000]"] = 3
    anchors: Annotated[int | None, "[1, inf)"] = None
    theta: Annotated[float, "[0, inf)"] = 3.0
    beta: Annotated[float | None, "(0, 1]"] = None

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; nothing is drawn yet."""
        shapes = self.shapes(sizes, forbidden, 0, 0, 0, 0)
        users, items = shapes["N"], shapes["M"]
        groups = -(-items // self.classes)
        anchors = self.anchors or max(1, min(2 * self.classes, users // (2 * groups), items // 2))
        if users < 2 * groups * anchors:
            got, do = f"{users:,}, for {items:,} items in groups of {self.classes}", "choose 'lowrank-ts'"
            raise InputError(f"at least {2 * groups * anchors:,} users for {self.name}", got, do)
        more = {"m": self.classes, "S": min(2 * anchors, items), "anchors": -1, "group": -1}
        return shapes | more | {"kind": NMFState, "settings": [self.theta, self.beta or 1.0 / users]}


@noalloc
def _shuffle(order: Ints, rng: Any) -> None:
    for index in range(len(order)):
        order[index] = index
    for index in range(len(order) - 1, 0, -1):
        other = int(rng.random() * (index + 1))
        order[index], order[other] = order[other], order[index]


@noalloc
def _draw_groups(state: Any, rng: Any) -> None:
    """Draw the items that all explore, and which users explore which group of items."""
    users, items = state.pulls.shape
    per_group, groups = len(state.anchors), -(-items // len(state.rates))
    _shuffle(state.order[:items], rng)
    for index in range(per_group):
        state.anchors[index] = state.order[index]
    _shuffle(state.order[:users], rng)
    for index in range(min(users, per_group * groups)):
        state.group[state.order[index]] = index // per_group


@noalloc
def _rate(state: Any, user: int, item: int, mean: float) -> float:
    pulls = state.pulls[user, item]
    return state.clicks[user, item] / pulls if pulls > 0.0 else mean


@noalloc
def _find_pure(state: Any, mean: float) -> None:
    """Take the users furthest from each other for the classes: successive projection; their rates are in `rates`."""
    rest, users, count = state.rest, len(state.rest), len(state.anchors)
    for user in range(users):
        for index in range(count):
            rest[user, index] = _rate(state, user, state.anchors[index], mean)
    for each in range(len(state.rates)):
        furthest, largest = 0, -1.0
        for user in range(users):
            square = 0.0
            for index in range(count):
                square += rest[user, index] ** 2
            if square > largest:
                furthest, largest = user, square
        for index in range(count):
            item = state.anchors[index]
            state.rates[each, item] = _rate(state, furthest, item, mean)
            state.scores[index] = rest[furthest, index]  # scratch space here
        for user in range(users if largest > 1e-12 else 0):
            inner = 0.0
            for index in range(count):
                inner += rest[user, index] * state.scores[index]
            for index in range(count):
                rest[user, index] -= inner / largest * state.scores[index]


@noalloc
def project(x: Floats) -> None:
    """Move x to the nearest point of the simplex: less the threshold, cut at 0 (Held, Wolfe, Crowder 1974)."""
    low, high = x[0], x[0]
    for each in range(len(x)):
        low, high = min(low, x[each]), max(high, x[each])
    low -= 1.0
    for _ in range(60):  # by halves
        middle, total = 0.5 * (low + high), 0.0
        for each in range(len(x)):
            total += max(x[each] - middle, 0.0)
        if total > 1.0:
            low = middle
        else:
            high = middle
    for each in range(len(x)):
        x[each] = max(x[each] - high, 0.0)


@noalloc
def _fit_mixing(state: Any, mean: float) -> None:
    """Fit each user's row of A to the rates on S, by projected gradients."""
    gram, count, m = state.gram, len(state.anchors), len(state.rates)
    trace = 0.0
    for one in range(m):
        for other in range(m):
            gram[one, other] = 0.0
            for index in range(count):
                item = state.anchors[index]
                gram[one, other] += state.rates[one, item] * state.rates[other, item]
        trace += gram[one, one]
    for user in range(len(state.mixing)):
        own, product, x = state.mixing[user], state.work[0], state.work[1]
        for each in range(m):
            own[each], product[each] = 1.0 / m, 0.0
            for index in range(count):
                item = state.anchors[index]
                product[each] += state.rates[each, item] * _rate(state, user, item, mean)
        for _ in range(_STEPS if trace > 0.0 else 0):
            for each in range(m):
                slope = -product[each]
                for other in range(m):
                    slope += gram[each, other] * own[other]
                x[each] = own[each] - slope / trace
            project(x)
            copy_row(own, x)


@noalloc
def _fit_rates(state: Any, mean: float) -> None:
    """Fit the column of W of each item to the rates of the users of its group."""
    m, root, product = len(state.rates), state.gram, state.work[0]
    for item in range(len(state.scores)):
        for each in range(m):
            product[each] = _RIDGE * mean
            for other in range(each, m):
                root[each, other] = _RIDGE if each == other else 0.0
        for user in range(len(state.group)):
            if state.group[user] == item // m and state.pulls[user, item] > 0.0:
                own, rate = state.mixing[user], _rate(state, user, item, mean)
                for each in range(m):
                    product[each] += own[each] * rate
                    for other in range(each, m):
                        root[each, other] += own[each] * own[other]
        set_root(root)
        solve_down(root, product)
        solve_up(root, product)
        for each in range(m):
            state.rates[each, item] = product[each]


@noalloc
def _fit(state: Any) -> None:
    pulls, clicks = 2.0, 1.0
    for user in range(len(state.pulls)):
        for item in range(len(state.scores)):
            pulls += state.pulls[user, item]
            clicks += state.clicks[user, item]
    _find_pure(state, clicks / pulls)
    _fit_mixing(state, clicks / pulls)
    _fit_rates(state, clicks / pulls)


@decide.register(NMFState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    counters, (users, items), m, count = state.counters, state.pulls.shape, len(state.rates), len(state.anchors)
    if state.anchors[0] < 0:
        _draw_groups(state, rng)
    if counters[U_SEEN] >= counters[U_NEXT]:
        counters[U_NEXT] = counters[U_SEEN] + min(users, max(1, counters[U_SEEN]))
        _fit(state)
    user, explored = user_in(state, context), 0
    chance = state.settings[NMF_THETA] * (count + m) / (state.settings[NMF_BETA] * (counters[U_SEEN] + 1.0))
    if rng.random() < chance:
        explored, group = 1, state.group[user]
        if rng.random() * (count + m) < count:
            item = state.anchors[int(rng.random() * count)]
        elif group >= 0:
            item = group * m + int(rng.random() * min(m, items - group * m))
        else:
            item = int(rng.random() * items)
        for other in range(items):  # where it is forbidden the first that is not
            state.scores[other] = 1.0 if other == item else -1.0 - other
    else:
        for item in range(items):
            state.scores[item] = 0.0
            for each in range(m):
                state.scores[item] += state.mixing[user, each] * state.rates[each, item]
    show_largest(state, rng, shown)
    return user + users * explored


@learn.register(NMFState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    users, item = len(state.pulls), number_of(state.sizes, shown)
    state.counters[U_SEEN] += 1
    if tag >= users:
        state.pulls[tag - users, item] += 1.0
        state.clicks[tag - users, item] += outcome[0]


@relearn.register(NMFState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    user, item = state.counters[U_WHOSE], number_of(state.sizes, shown)
    state.counters[U_SEEN] += pulls
    state.pulls[user, item] += pulls
    state.clicks[user, item] += clicks


@presume.register(NMFState)
def _presume(state: Any, context: Any) -> Presumed:
    return Presumed(state.mixing[int(context[0])] @ state.rates)  # scores are marks where it explores
