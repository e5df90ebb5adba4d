"""What policies for arriving users share: counts of each user and item, and outcomes that wait to be taken in.

The context of a decision is the number of the user (one beyond the last counts as the last); what is chosen is a
combination, which is one item. Samplers redraw what they believe when an outcome comes. `learn` has no random numbers,
so outcomes wait, and `decide` takes them in first: the law is the same. Where more wait than there is room for, they
are counted at once and everything is redrawn.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import View, learn, relearn, set_context, view
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.policies.combination_policy import CombinationPolicy, combination_view
from rankone.policies.engines.combinations import may_show, number_of, write_levels
from rankone.policies.engines.regression import set_root, solve_down, solve_up

_MOST = 2 * 10**7  # counts of users and items
_WAITING = 64
_RECALLED_SWEEPS = 20  # after outcomes of an earlier time
# Fields of `counters`: outcomes that wait, outcomes taken in, whose outcomes are recalled, sweeps that are due, when
# the next one is, and of how many outcomes a period is.
V_WAITING, V_SEEN, V_WHOSE, V_DUE, V_NEXT, V_PERIOD = range(6)


class Visits(NamedTuple):
    """Counts of each user and item; the tag of a decision is the user."""

    pulls: Annotated[Floats, "N, M"]
    clicks: Annotated[Floats, "N, M"]
    waiting: Annotated[Ints, "W, 3"]
    counters: Annotated[Ints, "6"]
    sizes: Annotated[Ints, "D"]
    forbidden: Annotated[Ints, "R, D"]


@dataclass(frozen=True)
class VisitPolicy(CombinationPolicy):
    """Base of policies that know users by their number.

    Args:
        users: how many users there are at most; a study fills it in.
    """

    uses_context = True
    by_segment = True
    users: Annotated[int | None, "[1, inf)"] = None

    def n_users(self) -> int:
        """Return how many users there are; refuse to start where nobody said so."""
        if self.users is None:
            do = f"write '{self.name}:users=1000', or play a problem that has users, such as latent:50x10"
            raise InputError(f"a number of users for {self.name}", "none", do)
        return self.users

    def tables(self, sizes: Ints, forbidden: Ints, period: int = 0) -> dict[str, Any]:
        """Return what `start_state` needs for the fields of `Visits`; `period`: outcomes between two sweeps."""
        users, items = self.n_users(), math.prod(sizes.tolist())
        if users * items > _MOST:
            got = f"{users:,} x {items:,}"
            raise InputError(f"at most {_MOST:,} counts of users and items", got, "take users or items away")
        shapes = {"N": users, "M": items, "W": _WAITING, "R": len(forbidden), "D": len(sizes)}
        return shapes | {"counters": [0, 0, 0, 1, 0, period], "sizes": sizes, "forbidden": forbidden}


@inlined
def user_in(state: Any, context: Any) -> int:
    """Return the user whom a context names."""
    return min(max(int(context[0]), 0), len(state.pulls) - 1) if len(context) else 0


@noalloc
def sweeps_due(state: Any) -> int:
    """Return how many sweeps are due, and note when the next one is: after 1, 2, 4, ... outcomes, then every period."""
    counters = state.counters
    due, seen = counters[V_DUE], counters[V_SEEN] + counters[V_WAITING]
    if due == 0 and counters[V_PERIOD] > 0 and seen >= counters[V_NEXT]:
        due = 1
    if due > 0:
        counters[V_NEXT] = seen + min(counters[V_PERIOD], max(1, seen))
        counters[V_DUE] = 0
    return due


@noalloc
def file_visit(state: Any, user: int, item: int, clicked: int) -> None:
    """Count an outcome."""
    state.pulls[user, item] += 1.0
    state.clicks[user, item] += clicked
    state.counters[V_SEEN] += 1


@noalloc
def file_waiting(state: Any) -> None:
    """Count all outcomes that wait."""
    for index in range(state.counters[V_WAITING]):
        file_visit(state, state.waiting[index, 0], state.waiting[index, 1], state.waiting[index, 2])
    state.counters[V_WAITING] = 0


@noalloc
def show_largest(state: Any, scores: Floats, rng: Any, shown: Any) -> None:
    """Show the item with the largest score that is not forbidden, ties broken at random."""
    best, largest, ties = 0, -math.inf, 0
    for item in range(len(scores)):
        if scores[item] < largest or not may_show(state, item):
            continue
        if scores[item] > largest or ties == 0:
            best, largest, ties = item, scores[item], 1
        else:
            ties += 1
            if rng.random() * ties < 1.0:
                best = item
    write_levels(state.sizes, best, shown)


@noalloc
def draw_normal(root: Floats, drawn: Floats, rng: Any) -> None:
    """Draw from a normal law: its precision is in the upper half of `root`, precision times mean in `drawn`.

    With U'U the precision and b the product, U^-1 (U'^-1 b + z) has mean (U'U)^-1 b and covariance (U'U)^-1.
    """
    set_root(root)
    solve_down(root, drawn)
    for k in range(len(drawn)):
        drawn[k] += rng.standard_normal()
    solve_up(root, drawn)


@noalloc
def pick_by(weights: Floats, rng: Any) -> int:
    """Draw an index by the logarithms of its weights, which are used up."""
    count, largest, total, index = len(weights), -math.inf, 0.0, 0
    for each in range(count):
        largest = max(largest, weights[each])
    for each in range(count):
        total += math.exp(weights[each] - largest)
        weights[each] = total
    drawn = rng.random() * total
    while index < count - 1 and drawn >= weights[index]:
        index += 1
    return index


@noalloc
def draw_shares(members: Floats, shares: Floats, rng: Any) -> None:
    """Draw logarithms of shares from Dirichlet(1 + members), one share after the other of what is left."""
    rest, left, count = 0.0, 0.0, len(members)
    for each in range(count):
        rest += members[each] + 1.0
    for each in range(count - 1):
        rest -= members[each] + 1.0
        share = draw_beta(members[each] + rest - 1.0, members[each], rng)
        share = min(max(share, 1e-300), 1.0 - 1e-16)
        shares[each] = left + math.log(share)
        left += math.log1p(-share)
    shares[count - 1] = left


@noalloc
def note_visit(state: Any, user: int, item: int, clicked: int) -> None:
    """Let an outcome wait, or count it where there is no room."""
    counters = state.counters
    if counters[V_WAITING] == len(state.waiting):
        file_waiting(state)
        file_visit(state, user, item, clicked)
        counters[V_DUE] = max(counters[V_DUE], 1)
        return
    row = state.waiting[counters[V_WAITING]]
    row[0], row[1], row[2] = user, item, clicked
    counters[V_WAITING] += 1


@learn.register(Visits)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    note_visit(state, tag, number_of(state.sizes, shown), outcome[0])


@set_context.register(Visits)
def _set_context(state: Any, context: Any) -> None:
    state.counters[V_WHOSE] = user_in(state, context)


@relearn.register(Visits)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    user, item = state.counters[V_WHOSE], number_of(state.sizes, shown)
    state.pulls[user, item] += pulls
    state.clicks[user, item] += clicks
    state.counters[V_SEEN] += pulls
    state.counters[V_DUE] = _RECALLED_SWEEPS


@view.register(Visits)
def _view(state: Any) -> View | None:
    pulls, clicks = state.pulls.sum(axis=0), state.clicks.sum(axis=0)
    mean = (clicks + 1.0) / (pulls + 2.0)
    width = 2.0 * np.sqrt(mean * (1.0 - mean) / (pulls + 3.0))
    whole = state._replace(pulls=pulls.astype(np.int64), clicks=clicks.astype(np.int64))
    return combination_view(whole, mean - width, mean + width, "all users together, mean ± 2 standard deviations")
