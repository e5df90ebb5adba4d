"""How a live list is drawn, and how probable each item was at each position given those above it.

Every list is one of four kinds. Which one is drawn first, with shares that are known before:

* *own*: the policy's, from what it believes (`rankone.kernels.policy.Belief`): blocks in order, and in each block the
  items with the largest draws first;
* *explore*: all items that may be shown, in an order drawn uniformly;
* *gentle*: the present list with a stranger, any item that is not on it, at one of its positions, both drawn uniformly;
* *control*: the start list.

A *lottery* is what lists are drawn from until enough outcomes have come in for another: arrays that do not change. So
many open decisions share one, and probabilities can be worked out long after the draw: for a click, in the moment it is
told. They follow from the lottery and from what was asked and shown, bit for bit.

How many lists explore is settled by the aim, until the best items are proven. Lists drawn uniformly cost more clicks
than a wrong pair does, so `both` takes fewer than an experiment. Of gentle ones a verdict takes about twice as many.
"""

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import kernel, noalloc
from rankone.evidence.list_chances import (
    CONTROL_LIST,
    EXPLORE,
    GENTLE,
    OWN,
    ListLottery,
    chances_of,
    count_left,
    free_positions,
    nth_left,
)
from rankone.evidence.steering import AIMS
from rankone.kernels.policy import Belief
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import draw_beta
from rankone.numerics.betas.product_posterior import HULL, draw_factor, make_hull

KINDS_OF_LISTS = ("own", "explore", "gentle", "control")
LIST_EXPLORE = {"earn": 0.02, "both": 0.3, "decide": 1.0}  # shares of lists, by aim
_LEAST = 1e-6  # a share is not halved below this
RENEWED = 100  # a lottery is renewed when so many parts more outcomes are there: it is never 1% behind


def start_lottery(
    belief: Belief | None, control: Ints, shares: Floats, n_positions: int, present: Ints | None = None
) -> ListLottery:
    """Return the lottery of the next lists, of up to `n_positions`.

    `belief` is None where the policy does not say what it believes. `control` and `present` have all items, those of
    the start list or the best first; by default the best by the belief.
    """
    if belief is None:
        none, nobody = np.zeros(0), np.zeros(0, np.int64)
        belief = Belief(nobody, none, np.zeros((0, 0)), none, nobody)
        present = control if present is None else present
    if present is None:
        looks = belief.clicks + belief.misses @ belief.rates
        present = np.lexsort((-(belief.clicks + 1.0) / (looks + 2.0), belief.blocks))
    return ListLottery(
        shares,
        belief.blocks,
        belief.clicks,
        belief.misses,
        belief.rates,
        belief.positions[:n_positions],
        np.zeros((len(belief.clicks), HULL)),
        present,
        control,
        np.array([belief.tag]),
    )


def renewal_due(outcomes_then: int, outcomes: int) -> bool:
    """Tell whether a lottery made with so many outcomes is to be renewed: at each at first, then at each 1% more.

    >>> renewal_due(0, 1), renewal_due(1_000, 1_009), renewal_due(1_000, 1_010)
    (True, False, True)
    """
    return outcomes - outcomes_then >= max(1, outcomes_then // RENEWED)


@noalloc
def _draw_own(lottery: Any, allowed: Any, pinned: Any, rng: Any, draws: Any, ranked: Any, shown: Any) -> None:
    """Show the items that come first by block and, within a block, by draw."""
    plain = len(lottery.rates) == 1 and lottery.rates[0] == 1.0
    room, count = len(ranked), 0
    for item in range(len(allowed)):
        if not allowed[item]:
            continue
        clicks, misses = lottery.clicks[item], lottery.misses[item]
        if plain:
            draws[item] = draw_beta(clicks + misses[0], clicks, rng)
        else:
            hull = lottery.hulls[item]
            if hull[1] == 0.0 and hull[2] == 0.0:  # not made yet
                make_hull(clicks, misses, lottery.rates, hull)
            draws[item] = draw_factor(clicks, misses, lottery.rates, hull, rng)
        place = count
        while place > 0 and (
            lottery.blocks[ranked[place - 1]] > lottery.blocks[item]
            or (lottery.blocks[ranked[place - 1]] == lottery.blocks[item] and draws[ranked[place - 1]] < draws[item])
        ):
            if place < room:
                ranked[place] = ranked[place - 1]
            place -= 1
        if place < room:
            ranked[place] = item
            count += 1 if count < room else 0
    rank = 0
    for each in range(len(lottery.positions)):
        position = lottery.positions[each]
        if position < len(shown) and pinned[position] < 0:
            shown[position] = ranked[rank]
            rank += 1


@noalloc
def _fill(order: Any, left: Any, shown: Any) -> None:
    """Fill the positions that show nothing yet with the first items of an order that are left."""
    place = 0
    for position in range(len(shown)):
        if shown[position] < 0:
            while not left[order[place]]:
                place += 1
            shown[position] = order[place]
            left[order[place]] = False


@noalloc
def _swap_in(order: Any, left: Any, pinned: Any, rng: Any, shown: Any) -> None:
    """Fill in the present list, with a stranger at one of its positions."""
    n_free, n_left = free_positions(pinned, len(pinned)), count_left(left)
    place, rank = int(rng.random() * n_free), n_free + int(rng.random() * (n_left - n_free))
    stranger = nth_left(order, left, rank)
    _fill(order, left, shown)
    for position in range(len(shown)):
        if pinned[position] < 0:
            if place == 0 and n_left > n_free:
                shown[position] = stranger
            place -= 1


@noalloc
def _shuffle(order: Any, left: Any, rng: Any, shown: Any) -> None:
    n_left = count_left(left)
    for position in range(len(shown)):
        if shown[position] < 0:
            shown[position] = nth_left(order, left, int(rng.random() * n_left))
            left[shown[position]] = False
            n_left -= 1


@kernel
def _draw(lottery: Any, kind: int, own: Any, allowed: Any, pinned: Any, rng: Any, shown: Any) -> None:
    left = allowed.copy()
    shown[:] = pinned
    if kind == OWN and len(lottery.blocks) > 0:
        ranked = np.empty(free_positions(pinned, len(pinned)), np.int64)
        _draw_own(lottery, allowed, pinned, rng, np.empty(len(allowed)), ranked, shown)
    elif kind == OWN:
        for position in range(len(shown)):
            if shown[position] < 0 and left[own[position]]:
                shown[position] = own[position]
                left[own[position]] = False
        _fill(lottery.present, left, shown)
    elif kind == EXPLORE:
        _shuffle(lottery.control, left, rng, shown)
    elif kind == GENTLE:
        _swap_in(lottery.present, left, pinned, rng, shown)
    else:
        _fill(lottery.control, left, shown)


def draw_list(lottery: Any, own: Any, allowed: Any, pinned: Any, rng: Any, shown: Any, chances: Any) -> int:
    """Fill in a list and how probable each of its items was, given those above; return of which kind it is.

    Args:
        lottery: what to draw from.
        own: (K,) what the policy decided, where it has no belief.
        allowed: (L,) which items may be shown: candidates, but for pinned ones; at least as many as free positions.
        pinned: (n,) the item pinned to each position of this list, -1: none.
        rng: where randomness comes from.
        shown: (n,) to be filled in.
        chances: (n,) to be filled in, -1: nobody can say; (0,) where nobody asks.
    """
    drawn, kind = rng.random(), OWN
    for each in range(CONTROL_LIST, OWN, -1):
        if drawn < lottery.shares[each]:
            kind = each
            break
        drawn -= lottery.shares[each]
    _draw(lottery, kind, own, allowed, pinned, rng, shown)
    if len(chances) > 0:
        chances_of(lottery, allowed, pinned, shown, kind, chances)
    return kind


def list_shares(
    aim: str, explore: float, control: float, proven: bool, lists: int, n_items: int, gentle: bool = False
) -> Floats:
    """Return the share of each kind of list.

    The share of the aim `earn` is halved whenever lists double, from 100 for each item on.

    >>> list_shares("both", 0.3, 0.1, proven=False, lists=0, n_items=9).round(2).tolist()
    [0.63, 0.27, 0.0, 0.1]
    >>> list_shares("earn", 0.02, 0.0, proven=False, lists=3_600, n_items=9).tolist()
    [0.995, 0.005, 0.0, 0.0]
    """
    own = aim in AIMS and explore == LIST_EXPLORE.get(aim)
    times = lists / (AIMS[aim].patience * n_items) if own else 0.0
    if times >= 1.0:
        explore = max(_LEAST, explore * 0.5 ** math.floor(math.log2(times)))
    result, explores = np.zeros(4), 0.0 if proven else explore
    result[CONTROL_LIST] = control
    result[GENTLE if gentle else EXPLORE] = (1.0 - control) * explores
    result[OWN] = 1.0 - result.sum()
    return result
