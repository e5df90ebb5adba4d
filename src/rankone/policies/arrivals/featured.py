"""What policies share that know users by their number and items by features: sums over the outcomes of each user.

The context of a decision is the user, then a row for each feature: ``context[1 + f * n_items + item]``. Features of
open decisions are kept in slots, and the tag of a decision is its slot; a state without a free slot grows.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import extends
from rankone.errors import InputError
from rankone.kernels.policy import grown, relearn, room, set_context, withdraw
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.arrivals.users import U_SEEN, U_WHOSE, UserPolicy, Users, user_in
from rankone.policies.engines.combinations import number_of

_MOST = 10**8  # numbers kept of all users
_SLOTS = 512
FT_FREE, FT_ASKED = range(5, 7)  # fields of `counters`


@extends(Users)
class Featured:
    """Sums over the outcomes of each user, and the features of open decisions."""

    grams: Annotated[Floats, "N, d, d"]
    moments: Annotated[Floats, "N, d"]
    seen: Annotated[Floats, "N, 2"]
    kept: Annotated[Floats, "S, F"]
    free: Annotated[Ints, "S"]
    unit: Annotated[Floats, "1"]
    recalled: Annotated[Floats, "M, d"]


@dataclass(frozen=True)
class FeaturedPolicy(UserPolicy):
    """Base of policies that know users by their number and items by their features.

    Args:
        users: how many users there are at most; a study fills it in.
        features: how many features an item has; a study fills it in.
        unit: what an outcome of 1 stands for; None: a click. A study fills it in.
    """

    clicks_only = False
    features: Annotated[int | None, "[1, inf)"] = None
    unit: Annotated[float | None, "(0, inf)"] = None

    def tables(self, kind: Any, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return what `start_state` needs for the fields of `Featured`."""
        if self.users is None or self.features is None:
            do = "play a problem that has both, such as clustered-linear:500x10"
            raise InputError(f"users, and items with features, for {self.name}", "none", do)
        n, d, shapes = self.users, self.features, self.shapes(sizes, forbidden, _SLOTS, 0, 0, 0)
        if n * d * d > _MOST:
            got = f"{n:,} users with {d:,} x {d:,}"
            raise InputError(f"at most {_MOST:,} sums of users for {self.name}", got, "take users or features away")
        own = {"d": d, "S": _SLOTS, "F": 1 + d, "free": np.arange(_SLOTS)[::-1], "unit": self.unit or 1.0}
        return shapes | own | {"kind": kind}


@noalloc
def keep_features(state: Any, user: int, context: Any, shown: Any) -> int:
    """Keep what was known of the decision until its outcome comes; return the tag."""
    counters, item, items = state.counters, number_of(state.sizes, shown), len(state.scores)
    counters[FT_ASKED] += 1
    counters[FT_FREE] -= 1
    slot = state.free[counters[FT_FREE]]
    state.kept[slot, 0] = user
    for k in range(state.kept.shape[1] - 1):
        state.kept[slot, 1 + k] = context[1 + k * items + item]
    return slot


@noalloc
def give_back(state: Any, tag: int) -> None:
    """Free the slot of a decision."""
    state.free[state.counters[FT_FREE]] = tag
    state.counters[FT_FREE] += 1


@noalloc
def add_outcome(state: Any, user: int, x: Floats, payoff: float) -> None:
    """Add an outcome to the sums of its user."""
    for k in range(len(x)):
        state.moments[user, k] += payoff * x[k]
        for m in range(len(x)):
            state.grams[user, k, m] += x[k] * x[m]
    state.seen[user, 0] += 1.0
    state.seen[user, 1] += payoff * payoff
    state.counters[U_SEEN] += 1


@grown.register(Featured)
def _grown(state: Any, more: int) -> Any:
    old = len(state.free)
    added = max(more - int(state.counters[FT_FREE]), old)
    free = np.concatenate([state.free[: state.counters[FT_FREE]], np.arange(old, old + added)])
    counters = state.counters.copy()
    counters[FT_FREE] = len(free)
    kept = np.concatenate([state.kept, np.zeros((added, state.kept.shape[1]))])
    free = np.concatenate([free, np.zeros(old + added - len(free), np.int64)])
    return state._replace(kept=kept, free=free, counters=counters)


@set_context.register(Featured)
def _set_context(state: Any, context: Any) -> None:
    items, d = state.recalled.shape
    state.counters[U_WHOSE] = user_in(state, context)
    for item in range(items if len(context) == 1 + items * d else 0):
        for k in range(d):
            state.recalled[item, k] = context[1 + k * items + item]


@withdraw.register(Featured)
def _withdraw(state: Any, shown: Any, tag: int) -> None:
    give_back(state, tag)


@room.register(Featured)
def _room(state: Any) -> int:
    return int(state.counters[FT_FREE])


def recalls(state_class: type, record: Any) -> None:
    """Register how outcomes are recalled; `record` is the kernel (state, user, features, payoff) that learns."""

    @relearn.register(state_class)
    def recall(state: Any, shown: Any, pulls: int, clicks: int) -> None:
        x = state.recalled[number_of(state.sizes, shown)]
        for index in range(pulls):
            record(state, state.counters[U_WHOSE], x, state.unit[0] if index < clicks else 0.0)
