"""What policies for users who arrive by themselves share: users by number, and draws of what is believed of them.

The context of a decision begins with the number of the user (one beyond the last counts as the last); what is chosen
is a combination, which is one item. In a study all users are there from the start. Live they are numbered as they come,
the state grows (`with_users`), and a number can pass to another visitor (`rankone.policies.arrivals.visits`).
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import Presumed, presume, set_context
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.states import resized, start_state
from rankone.policies.combination_policy import CombinationPolicy
from rankone.policies.engines.combinations import may_show, write_levels
from rankone.policies.engines.regression import set_root, solve_down, solve_up

_FIRST_ROOM = 64  # users for whom there is room at first, live
# Fields of `counters`: users so far and for how many there is room; whose outcomes are recalled; outcomes taken in, and
# at how many the next sweep is. The others are those of `Visits` and of `Featured`.
U_USERS, U_ROOM, U_WHOSE, U_SEEN, U_NEXT = range(5)


class Users(NamedTuple):
    """What every policy here knows; its arrays of one row a user declare that as N."""

    counters: Annotated[Ints, "9"]
    sizes: Annotated[Ints, "D"]
    forbidden: Annotated[Ints, "R, D"]
    scores: Annotated[Floats, "M"]  # of each item, for the user who is there


@dataclass(frozen=True)
class UserPolicy(CombinationPolicy):
    """Base of policies that know users by their number.

    Args:
        users: how many users there are at most; a study fills it in.
    """

    uses_context = True
    users: Annotated[int | None, "[1, inf)"] = None

    def n_users(self) -> int:
        """Return how many users there are; refuse to start where nobody said so."""
        if self.users is None:
            do = f"write '{self.name}:users=1000', or play a problem that has users, such as latent:50x10"
            raise InputError(f"a number of users for {self.name}", "none", do)
        return self.users

    def shapes(self, sizes: Ints, forbidden: Ints, *counters: int) -> dict[str, Any]:
        """Return what `start_state` needs for the fields of `Users`; `counters`: the last of them."""
        users, items = self.n_users(), math.prod(sizes.tolist())
        shapes = {"N": users, "M": items, "R": len(forbidden), "D": len(sizes)}
        return shapes | {"counters": [users, users, 0, 0, 0, *counters], "sizes": sizes, "forbidden": forbidden}

    def _begin(self, sizes: Ints, forbidden: Ints) -> Any:
        known = self.known_at_start(sizes, forbidden)
        return start_state(known.pop("kind"), **known)

    def known_at_start(self, sizes: Ints, forbidden: Ints) -> dict[str, Any]:
        """Return the `kind` of the state before the first decision, and what is not zero in it (`start_state`)."""
        raise NotImplementedError


def start_alone(policy: Any, sizes: Sequence[int], forbidden: Ints) -> Any:
    """Return the state before the first decision where users are numbered as they come: only user 0 is there."""
    state = dataclasses.replace(policy, users=_FIRST_ROOM).start(*sizes, forbidden=forbidden)
    state.counters[U_USERS] = 1
    return state


def with_users(state: Any, users: int) -> Any:
    """Return a state with room for so many users, the same where it has it; from Python only."""
    if state.counters[U_ROOM] >= users:
        return state
    room = int(state.counters[U_ROOM])
    while room < users:  # however many come at once
        room *= 2
    state = resized(state, "N", room)
    state.counters[U_ROOM] = room
    return state


@noalloc
def user_in(state: Any, context: Any) -> int:
    """Return the user whom a context names: u, or -u for user u (see `Visits`)."""
    user = min(abs(int(context[0])), state.counters[U_ROOM] - 1) if len(context) else 0
    state.counters[U_USERS] = max(state.counters[U_USERS], user + 1)
    return user


@set_context.register(Users)
def _set_context(state: Any, context: Any) -> None:
    state.counters[U_WHOSE] = user_in(state, context)


@presume.register(Users)
def _presume(state: Any, context: Any) -> Presumed:
    return Presumed(state.scores.copy())


@noalloc
def show_largest(state: Any, rng: Any, shown: Any) -> None:
    """Show the item with the largest score that is not forbidden, ties broken at random."""
    best, largest, ties, scores = 0, -math.inf, 0, state.scores
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
def copy_row(into: Floats, of: Floats) -> None:
    """Copy some numbers."""
    for k in range(len(into)):
        into[k] = of[k]


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
