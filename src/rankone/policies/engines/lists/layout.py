"""What policies on lists share: how far down a list was looked at, who stands where, and what they have to be told.

After a click nobody knows whether a visitor read on. *until* says what a policy takes for granted:

* ``first``: up to the first click, as in a cascade; without a click, the whole list,
* ``last``: up to the last click, as with dependent clicks; without a click, the whole list,
* ``all``: the whole list. Items below a click that nobody looked at then count as refused,
* ``miss``: up to the first item that is not clicked, where all of them have to be (`comb-cascade`).

*order* says where the items go that a policy wants to show: ``best-first``, as people expect, or ``worst-first``. In a
cascade the reward is the same and more is learned, as less is hidden below a click (Kveton et al. 2015, section 5.3);
where clicks at the top are worth more, or positions are looked at differently, it costs.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import inlined, noalloc
from rankone.errors import InputError
from rankone.kernels.policy import Belief
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import ListPolicy, Policy
from rankone.specs import Numbers, amount

UNTIL = {"first": 0, "last": 1, "all": 2, "miss": 3}
FIRST, _LAST, _ALL, _MISS = UNTIL["first"], UNTIL["last"], UNTIL["all"], UNTIL["miss"]
Until = Annotated[str, ("first", "last", "all", "miss")]
Order = Annotated[str, ("best-first", "worst-first")]
OfPositions = Annotated[Numbers | None, "(0, 1]"]
#: Policies that learn the examination, or do without it.
WITHOUT = ("gibbs-ts", "grab", "unirank", "toprank")


def positions_by_order(n_positions: int, order: str) -> Ints:
    """Return the position of the best item, of the second best, and so on.

    >>> positions_by_order(3, "worst-first").tolist()
    [2, 1, 0]
    """
    positions = np.arange(n_positions)
    return positions if order == "best-first" else positions[::-1].copy()


def positions_by_weight(weights: npt.ArrayLike) -> Ints:
    """Return the position of the best item, of the second best, and so on: the largest weight first.

    >>> positions_by_weight([0.2, 0.9, 0.5]).tolist()
    [1, 2, 0]
    """
    return np.argsort(-np.asarray(weights, np.float64), kind="stable")


@inlined
def looked_at(outcome: Any, until: int) -> int:
    """Return how many positions from the top were looked at."""
    n_positions = len(outcome)
    if until == _ALL:
        return n_positions
    last = n_positions
    for position in range(n_positions):
        if (outcome[position] == 0) == (until == _MISS):
            last = position + 1
            if until != _LAST:
                break
    return last


def needed_examination(policy: Policy, given: Numbers | None, n_positions: int) -> Floats:
    """Return the examination of each position, or say which policies can do without."""
    if given is None:
        names = ", ".join(WITHOUT)
        do = f"try '{policy.name}:examination=1x0.5x0.3', or take a policy that does not need it: {names}"
        raise InputError(f"the examination of each position for {policy.name}", "none", do)
    _check_count("examination", given, n_positions)
    return np.array(given, np.float64)


@dataclass(frozen=True)
class KnownExamination(ListPolicy):
    """Base of policies that have to be told how likely each position is looked at; a study of a `PBM` does so."""

    examination: OfPositions = None

    def _known(self, n_positions: int) -> dict[str, Any]:
        """Return two fields of a state: the examination, and the positions from the most examined on."""
        exams = needed_examination(self, self.examination, n_positions)
        return {"examination": exams, "positions": positions_by_weight(exams)}


def positions_by_termination(given: Numbers | None, n_positions: int) -> Ints:
    """Return the position of the best item, of the second best, ...: where most leave; from the top if nobody says."""
    if given is None:
        return positions_by_order(n_positions, "best-first")
    _check_count("termination", given, n_positions)
    return positions_by_weight(given)


def _check_count(what: str, given: Numbers, n_positions: int) -> None:
    if len(given) != n_positions:
        got = amount(len(given), "number")
        raise InputError(f"{what} of {amount(n_positions, 'position')}", got, "give one number per position")


def beta_belief(looks: npt.ArrayLike, clicks: npt.ArrayLike, positions: Ints) -> Belief:
    """Return the belief in which an item draws from Beta(clicks + 1, looks - clicks + 1).

    >>> beta_belief([4, 0], [1, 0], np.arange(1)).misses.tolist()
    [[3.0], [0.0]]
    """
    clicked = np.array(clicks, np.float64)
    misses = np.maximum(np.asarray(looks, np.float64) - clicked, 0.0)[:, None]
    return Belief(np.zeros(len(clicked), np.int64), clicked, misses, np.ones(1), positions.copy())


@noalloc
def draw_ties(ties: Floats, rng: Any) -> None:
    """Draw who wins a tie: the smaller number."""
    for item in range(len(ties)):
        ties[item] = rng.random()


@inlined
def goes_before(scores: Floats, ties: Floats, item: int, other: int) -> bool:
    """Tell whether an item is ranked before another."""
    if scores[item] != scores[other]:
        return scores[item] > scores[other]
    return ties[item] < ties[other]


@noalloc
def rank_largest(scores: Floats, ties: Floats, top: Ints) -> None:
    """Fill `top` with the items of the largest scores, the largest first."""
    room, count = len(top), 0
    for item in range(len(scores)):
        position = count
        if count == room:
            if not goes_before(scores, ties, item, top[room - 1]):
                continue
            position = room - 1
        while position > 0 and goes_before(scores, ties, item, top[position - 1]):
            top[position] = top[position - 1]
            position -= 1
        top[position] = item
        count += 1 if count < room else 0


@inlined
def show_at(positions: Ints, top: Ints, shown: Any) -> None:
    """Put each item of a ranking at its position."""
    for rank in range(len(shown)):
        shown[positions[rank]] = top[rank]


@inlined
def show_largest(state: Any, scores: Floats, ties: Floats, shown: Any) -> None:
    """Show the items of the largest scores, the largest first, at the positions of a state from the best on."""
    rank_largest(scores, ties, state.top)
    show_at(state.positions, state.top, shown)


@inlined
def count_looks(state: Any, shown: Any, outcome: Any, until: int) -> None:
    """Count the looks at items and their clicks, as far down as the list was read."""
    for position in range(looked_at(outcome, until)):
        if shown[position] >= 0:
            state.pulls[shown[position]] += 1
            state.clicks[shown[position]] += outcome[position]


@noalloc
def draw_items(items: Ints, shown: Any, first: int, rng: Any) -> None:
    """Fill `shown` from a place on with different items, drawn uniformly (Fisher-Yates, as far as it is needed)."""
    count = len(items)
    for position in range(len(shown) - first):
        other = position + int(rng.random() * (count - position))
        items[position], items[other] = items[other], items[position]
        shown[first + position] = items[position]
