"""How probable each item of a live list was at its position, given those above it.

What a lottery is, and what kinds of lists it draws: `rankone.evidence.list_lottery`. With P_m the probability of the
items above with the kind m, and pi_m(i) that of item i after them,

    pi(i) = sum of w_m P_m pi_m(i) / sum of w_m P_m

Pins, candidates, and what a policy cannot say: `docs/proofs.md`.
"""

from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import kernel, noalloc
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.ordered_draws import ordered_chances

OWN, EXPLORE, GENTLE, CONTROL_LIST = range(4)  # kinds of lists
UNKNOWN = -1.0


class ListLottery(NamedTuple):
    """What lists are drawn from; items are numbered from 0."""

    shares: Floats  # (4,) of each kind; they add up to 1
    blocks: Ints  # (L,) as in `Belief`; empty where the policy has none
    clicks: Floats  # (L,)
    misses: Floats  # (L, R)
    rates: Floats  # (R,)
    positions: Ints  # (K,)
    hulls: Floats  # (L, 5) what draws are made from
    present: Ints  # (L,) all items, the best first: the present list is the first that may be shown
    control: Ints  # (L,) all items, the start list first
    tag: Ints  # (1,) of the policy's own lists


@noalloc
def _says(lottery: Any) -> bool:
    """Tell whether the policy's probabilities are known, given the items above in the order of positions."""
    for rank in range(len(lottery.positions)):
        if lottery.positions[rank] != rank:
            return False
    return len(lottery.blocks) > 0


@noalloc
def _equal(lottery: Any, one: int, other: int) -> bool:
    if lottery.clicks[one] != lottery.clicks[other]:
        return False
    for k in range(len(lottery.rates)):  # noqa: SIM110 - no generators in compiled code
        if lottery.misses[one, k] != lottery.misses[other, k]:
            return False
    return True


@kernel
def _in_block(lottery: Any, above: Any, rest: Any, of_above: Any, of_rest: Any) -> bool:
    """Fill in probabilities within one block, as `ordered_chances` does; equal items are equally probable."""
    first, same = (above[0] if len(above) > 0 else rest[0]), True
    for item in above:
        same = same and _equal(lottery, first, item)
    for item in rest:
        same = same and _equal(lottery, first, item)
    if not same:
        return ordered_chances(lottery.clicks, lottery.misses, lottery.rates, above, rest, of_above, of_rest)
    for position in range(len(above)):
        of_above[position] = 1.0 / (len(above) - position + len(rest))
    for index in range(len(rest)):
        of_rest[index] = 1.0 / len(rest)
    return True


@noalloc
def _first_block(lottery: Any, left: Any, above: Any, start: int) -> int:
    """Return the first block that has items left or, from one of the items above on, has items there; -1: none."""
    block = -1
    for item in range(len(left)):
        if left[item] and (block < 0 or lottery.blocks[item] < block):
            block = lottery.blocks[item]
    for position in range(start, len(above)):
        each = lottery.blocks[above[position]]
        block = each if block < 0 or each < block else block
    return block


@kernel
def _own_chances(lottery: Any, left: Any, above: Any, steps: Any, cross: Any) -> None:
    """Fill in how probable the list was at each position so far (`steps`), and each item at the next (`cross`).

    `left` says which items may be shown; of those it leaves the ones that are not above.
    """
    for position in range(len(above)):
        left[above[position]] = False
    start = 0
    while True:
        block, others, end = _first_block(lottery, left, above, start), 0, start
        if block < 0:
            return
        while end < len(above) and lottery.blocks[above[end]] == block:
            end += 1
        rest = np.empty(len(left), np.int64)
        for item in range(len(left)):
            if left[item] and lottery.blocks[item] == block:
                rest[others] = item
                others += 1
        if end < len(above) and others > 0:  # whoever stands here passed by items of an earlier block
            steps[start:] = 0.0
            return
        of_rest = np.empty(others)
        known = _in_block(lottery, above[start:end], rest[:others], steps[start:end], of_rest)
        if others > 0:
            for index in range(others):
                cross[rest[index]] = of_rest[index] if known else 1.0 / others
            return
        start = end


@noalloc
def count_left(left: Any) -> int:
    """Return how many items are left."""
    count = 0
    for item in range(len(left)):
        count += 1 if left[item] else 0
    return count


@noalloc
def nth_left(order: Any, left: Any, number: int) -> int:
    """Return the item of an order that comes after so many that are left."""
    for place in range(len(order)):
        if left[order[place]]:
            if number == 0:
                return int(order[place])
            number -= 1
    return -1


@noalloc
def _is_stranger(order: Any, left: Any, item: int, n_free: int) -> bool:
    """Tell whether an item is none of the first of an order that are left."""
    seen = 0
    for place in range(len(order)):
        if left[order[place]]:
            seen += 1
            if order[place] == item:
                return seen > n_free
    return False


@noalloc
def _ranked_chances(order: Any, left: Any, above: Any, n_free: int, strangers: int, steps: Any, cross: Any) -> None:
    """Fill in the same of the first of an order, with one of so many `strangers` at one of the `n_free` positions.

    `left` says which items may be shown; `cross` holds zeros. Without strangers the list is certain.
    """
    place, met = 0, False
    for position in range(len(above) + 1):
        while place < len(order) and not left[order[place]]:
            place += 1
        if place == len(order):
            return
        usual = order[place]
        place += 1
        odd = 0.0 if met or strangers <= 0 else 1.0 / (n_free - position)
        if position == len(above):
            for rank in range(n_free, n_free + strangers if odd > 0.0 else 0):
                cross[nth_left(order, left, rank)] = odd / strangers
            cross[usual] = 1.0 - odd
        elif above[position] == usual:
            steps[position] = 1.0 - odd
        else:
            is_stranger = odd > 0.0 and _is_stranger(order, left, above[position], n_free)
            steps[position] = odd / strangers if is_stranger else 0.0
            met = True


@kernel
def _chances(lottery: Any, allowed: Any, above: Any, n_free: int, own: bool, steps: Any, crosses: Any) -> None:
    """Fill in the probabilities of all kinds: (4, above) of the items above, (4, L) of those at the next position."""
    left = allowed.copy()
    if own and lottery.shares[OWN] > 0.0:
        _own_chances(lottery, left, above, steps[OWN], crosses[OWN])
    left[:] = allowed
    n_left = count_left(left)
    for position in range(len(above)):
        steps[EXPLORE, position] = 1.0 / (n_left - position)
        left[above[position]] = False
    for item in range(len(left)):
        if left[item]:
            crosses[EXPLORE, item] = 1.0 / (n_left - len(above))
    _ranked_chances(lottery.present, allowed, above, n_free, n_left - n_free, steps[GENTLE], crosses[GENTLE])
    _ranked_chances(lottery.control, allowed, above, n_free, 0, steps[CONTROL_LIST], crosses[CONTROL_LIST])


@noalloc
def free_positions(pinned: Any, until: int) -> int:
    """Return how many of the first positions have no pinned item."""
    count = 0
    for position in range(until):
        count += 1 if pinned[position] < 0 else 0
    return count


@kernel
def _unpinned(pinned: Any, shown: Any, until: int) -> Any:
    """Return the items at the first positions, but for pinned ones."""
    result, count = np.empty(until, np.int64), 0
    for position in range(until):
        if pinned[position] < 0:
            result[count] = shown[position]
            count += 1
    return result[:count]


@kernel
def chances_at(lottery: Any, allowed: Any, pinned: Any, shown: Any, kind: int, position: int, cross: Any) -> bool:
    """Fill in how probable each item was at a position (from 0), given those above; return False where nobody can say.

    The list was drawn, and is of the `kind`, as `rankone.evidence.list_lottery.draw_list` says. `cross` is for all
    items.
    """
    cross[:] = 0.0
    if pinned[position] >= 0:
        cross[pinned[position]] = 1.0
        return True
    own = _says(lottery)
    if not own and kind == OWN:
        return False
    above = _unpinned(pinned, shown, position)
    steps, crosses = np.zeros((4, len(above))), np.zeros((4, len(cross)))
    _chances(lottery, allowed, above, free_positions(pinned, len(pinned)), own, steps, crosses)
    total = 0.0
    for each in range(4):
        weight = lottery.shares[each] if each != OWN or own else 0.0
        for before in range(len(above)):
            weight *= steps[each, before]
        total += weight
        if weight > 0.0:
            for item in range(len(cross)):
                cross[item] += weight * crosses[each, item]
    for item in range(len(cross)):
        cross[item] /= total
    return total > 0.0


@kernel
def chances_of(lottery: Any, allowed: Any, pinned: Any, shown: Any, kind: int, chances: Any) -> None:
    """Fill in how probable what was shown was at each position, given those above; -1: nobody can say."""
    own, place = _says(lottery), 0
    above = _unpinned(pinned, shown, len(pinned))
    steps, crosses = np.zeros((4, len(above))), np.zeros((4, len(allowed)))
    if own or kind != OWN:
        _chances(lottery, allowed, above, len(above), own, steps, crosses)
    weights = lottery.shares.copy()
    if not own:
        weights[OWN] = 0.0
    for position in range(len(pinned)):
        chances[position] = 1.0
        if pinned[position] < 0:
            before, after = weights.sum(), 0.0
            for each in range(4):
                weights[each] *= steps[each, place]
                after += weights[each]
            chances[position] = after / before if own or kind != OWN else UNKNOWN
            place += 1
