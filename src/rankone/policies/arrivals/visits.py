"""What policies share that know users by their number only: counts of each user and item, and how they decide.

Samplers redraw what they believe when an outcome comes. `learn` has no random numbers, so outcomes wait, and `decide`
takes them in first: the law is the same. Where more wait than there is room for, they are counted at once and
everything is redrawn. What differs from policy to policy are three kernels: `score`, `take_in` and `sweep`.

The plainest is `user-ts`, Thompson sampling for each user alone (Thompson 1933; Agrawal, Goyal 2012, Algorithm 1): each
item draws from its posterior Beta(clicks + 1, pulls - clicks + 1) of this user. It is the yardstick of learning nothing
from others. Learning everything together is `thompson`, which looks at no user.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import dispatched, extends, optional
from rankone.errors import InputError
from rankone.kernels.policy import View, decide, learn, relearn, view
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.arrivals.users import U_NEXT, U_SEEN, U_USERS, U_WHOSE, UserPolicy, Users, show_largest, user_in
from rankone.policies.combination_policy import combination_view
from rankone.policies.engines.combinations import number_of

MOST_COUNTS = 2 * 10**7  # of users and items
_WAITING = 64
_LIVE_USERS = 10_000
_RECALLED_SWEEPS = 20  # after outcomes of an earlier time
# Fields of `counters`: outcomes that wait, sweeps that are due, and how many outcomes are between two of them: at least
# so many (0: sweep never), and a user each, or one for so many users.
V_WAITING, V_DUE, V_PERIOD, V_SHARE = range(5, 9)


@extends(Users)
class Visits:
    """Counts of each user and item; the tag of a decision is the user.

    Live, user 0 is all visitors who are forgotten, and never asks. A negative number in a context, -u, is a new visitor
    who takes the number u over: what user u did until then goes to user 0.
    """

    pulls: Annotated[Floats, "N, M"]
    clicks: Annotated[Floats, "N, M"]
    waiting: Annotated[Ints, "W, 3"]


@dataclass(frozen=True)
class VisitPolicy(UserPolicy):
    """Base of policies that know users by their number only.

    Args:
        users: how many users there are at most; a study fills it in.
    """

    by_segment = True
    by_visitor = True

    def known_live(self, sizes: Sequence[int]) -> dict[str, int]:
        """Return how many visitors are kept in memory, where nobody says so."""
        return {"users": min(_LIVE_USERS, MOST_COUNTS // math.prod(sizes))}

    def tables(self, kind: Any, sizes: Ints, forbidden: Ints, period: int = 0, share: int = 1) -> dict[str, Any]:
        """Return what `start_state` needs for the fields of `Visits`; `period` and `share`: see `V_PERIOD`."""
        shapes = self.shapes(sizes, forbidden, 0, 1, period, share)
        if shapes["N"] * shapes["M"] > MOST_COUNTS:
            got, do = f"{shapes['N']:,} x {shapes['M']:,}", "take users or items away"
            raise InputError(f"at most {MOST_COUNTS:,} counts of users and items", got, do)
        return shapes | {"kind": kind, "W": _WAITING}


@dispatched
def score(state: Any, user: int, rng: Any) -> None:
    """Fill in the score of each item for a user; the largest is shown."""


@noalloc
def file_visit(state: Any, user: int, item: int, clicked: int) -> None:
    """Count an outcome."""
    state.pulls[user, item] += 1.0
    state.clicks[user, item] += clicked
    state.counters[U_SEEN] += 1


@optional
def take_in(state: Any, user: int, item: int, clicked: int, rng: Any) -> None:
    """Count an outcome, and redraw what rests on it."""
    file_visit(state, user, item, clicked)


@optional
def sweep(state: Any, rng: Any) -> None:
    """Redraw everything."""


@noalloc
def _sweeps_due(state: Any) -> int:
    """Return how many sweeps are due, and note when the next one is: after 1, 2, 4, ... outcomes, then every period."""
    counters = state.counters
    due, seen = counters[V_DUE], counters[U_SEEN] + counters[V_WAITING]
    if due == 0 and counters[V_PERIOD] > 0 and seen >= counters[U_NEXT]:
        due = 1
    if due > 0:
        period = max(counters[V_PERIOD], counters[U_USERS] // counters[V_SHARE]) if counters[V_PERIOD] > 0 else 0
        counters[U_NEXT] = seen + min(period, max(1, seen))
        counters[V_DUE] = 0
    return due


@noalloc
def _file_waiting(state: Any) -> None:
    for index in range(state.counters[V_WAITING]):
        file_visit(state, state.waiting[index, 0], state.waiting[index, 1], state.waiting[index, 2])
    state.counters[V_WAITING] = 0


@noalloc
def _forget(state: Any, user: int) -> None:
    """Let what a user did be what anybody did."""
    for item in range(state.pulls.shape[1]):
        state.pulls[0, item] += state.pulls[user, item]
        state.clicks[0, item] += state.clicks[user, item]
        state.pulls[user, item] = state.clicks[user, item] = 0.0


@decide.register(Visits)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    due = _sweeps_due(state)
    if due > 0:
        _file_waiting(state)
    for _ in range(due):
        sweep(state, rng)
    for index in range(state.counters[V_WAITING]):
        take_in(state, state.waiting[index, 0], state.waiting[index, 1], state.waiting[index, 2], rng)
    state.counters[V_WAITING] = 0
    user = user_in(state, context)
    if len(context) and context[0] < 0.0:
        _forget(state, user)
    score(state, user, rng)
    show_largest(state, rng, shown)
    return user


@noalloc
def _wait(state: Any, user: int, item: int, clicked: int) -> None:
    """Let an outcome wait, or count it where there is no room."""
    counters = state.counters
    if counters[V_WAITING] == len(state.waiting):
        _file_waiting(state)
        file_visit(state, user, item, clicked)
        counters[V_DUE] = max(counters[V_DUE], 1)
        return
    row = state.waiting[counters[V_WAITING]]
    row[0], row[1], row[2] = user, item, clicked
    counters[V_WAITING] += 1


@learn.register(Visits)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    _wait(state, tag, number_of(state.sizes, shown), outcome[0])


@relearn.register(Visits)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    user, item = state.counters[U_WHOSE], number_of(state.sizes, shown)
    if state.counters[V_DUE] == 0 and pulls == 1:  # one while it plays
        _wait(state, user, item, clicks)
        return
    state.pulls[user, item] += pulls
    state.clicks[user, item] += clicks
    state.counters[U_SEEN] += pulls
    state.counters[V_DUE] = _RECALLED_SWEEPS


@view.register(Visits)
def _view(state: Any) -> View | None:
    pulls, clicks = state.pulls.sum(axis=0), state.clicks.sum(axis=0)
    mean = (clicks + 1.0) / (pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (pulls + 3.0))
    whole = state._replace(pulls=pulls.astype(np.int64), clicks=clicks.astype(np.int64))
    return combination_view(whole, mean - width, mean + width, "all users together, mean ± 2 standard deviations")


@extends(Visits)
class UserTSState:
    """Counts of each user and item."""


@dataclass(frozen=True)
class UserTS(VisitPolicy):
    """Thompson sampling, every user for himself."""

    name = "user-ts"
    use_when = "a yardstick: users who come hundreds of times and have nothing in common"

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the start; nothing is known."""
        return self.tables(UserTSState, sizes, forbidden)


@score.register(UserTSState)
def _score(state: Any, user: int, rng: Any) -> None:
    for item in range(len(state.scores)):
        state.scores[item] = draw_beta(state.pulls[user, item], state.clicks[user, item], rng)
