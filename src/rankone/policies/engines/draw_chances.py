"""How probable a decision of Thompson sampling was: who draws the largest (by `rankone.numerics.betas.beta_winner`).

An insurance step (`rankone.policies.engines.insurance`) need not try again what outcomes speak against already: a step
of flat Thompson sampling tries what is bad some seven times; as insurance fewer tries will do. With N outcomes and S
clicks, of which the best mean is m, the evidence against a combination is N d(S / N, m). From `FIRST` + `MORE` log(t)
on, at decision t, and from `FEWEST` outcomes on, it is *ruled out*: an insurance step that draws it shows it in one
case of twenty only; otherwise a step of the insured policy follows. What was ruled out by bad luck so comes back.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined, kernel, noalloc
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta_winner import GROUP_CLICKS, GROUP_PULLS, GROUP_SIZE, compare, curves_of, win_chance
from rankone.numerics.kl import bernoulli_kl
from rankone.numerics.structures.hash_tables import NO_SLOT, NOBODY, number_at, slot_of
from rankone.policies.engines.combinations import (
    add_chance,
    count_changes,
    cross_size,
    gather_reach,
    is_asked_for,
    may_show,
)

# More rows of a table of groups: the group of each member; where to look for the group with given counts.
MEMBER_GROUP, GROUP_SLOT = range(3, 5)
_SPREAD = 1_000_003  # an odd multiplier: counts that differ little land in slots far apart
FIRST, MORE = 0.5, 0.2
FEWEST = 3  # outcomes without which nothing is ruled out
STILL = 0.05  # how often what is ruled out is shown all the same


class Counts(NamedTuple):
    """What of a state the draws depend on: counts by slot, how to find a slot, and which combinations there are."""

    pulls: Ints
    clicks: Ints
    keys: Ints
    table: Ints
    sizes: Ints
    forbidden: Ints


@inlined
def counts_of(state: Any) -> Counts:
    """Return the counts of a state with a leader."""
    return Counts(state.pulls, state.clicks, state.keys, state.table, state.sizes, state.forbidden)


@noalloc
def _members(sizes: Ints, rules: Ints, leader: int, members: Ints) -> int:
    """Fill in the leader and its cross, first those with another level of the first factor; return how many."""
    if len(rules) > 0:
        count = gather_reach(sizes, rules, leader, members)
        members[count] = leader
        return count + 1
    stride, count = 1, 0
    for factor in range(1, len(sizes)):
        stride *= sizes[factor]
    for factor in range(len(sizes)):
        own = (leader // stride) % sizes[factor]
        for level in range(sizes[factor]):
            if level != own or factor == 0:
                members[count] = leader + (level - own) * stride
                count += 1
        if factor + 1 < len(sizes):
            stride //= sizes[factor + 1]
    return count


@kernel
def _start_table(n_members: int) -> Ints:
    """Return a table of groups in which nobody has one yet; at least half of its slots stay empty."""
    size = 2
    while size < 2 * n_members:
        size *= 2
    table = np.empty((5, size), np.int64)
    table[MEMBER_GROUP], table[GROUP_SLOT], table[GROUP_SIZE] = NOBODY, NOBODY, 0
    return table


@noalloc
def _group_of(table: Ints, n_groups: int, pulls: int, clicks: int) -> int:
    """Return the group with these counts; `n_groups`, where it is entered, if there is none so far."""
    mask = table.shape[1] - 1
    slot = (pulls * _SPREAD + clicks) & mask
    while table[GROUP_SLOT, slot] != NOBODY:
        group = table[GROUP_SLOT, slot]
        if table[GROUP_PULLS, group] == pulls and table[GROUP_CLICKS, group] == clicks:
            return group
        slot = (slot + 1) & mask
    table[GROUP_SLOT, slot] = n_groups
    table[GROUP_PULLS, n_groups] = pulls
    table[GROUP_CLICKS, n_groups] = clicks
    return n_groups


@noalloc
def _counted_group(table: Ints, n_groups: int, counts: Counts, combination: int) -> int:
    slot = slot_of(counts.keys, counts.table, combination)
    if slot == NO_SLOT:
        return _group_of(table, n_groups, 0, 0)
    return _group_of(table, n_groups, counts.pulls[slot], counts.clicks[slot])


@kernel
def add_largest_draws(counts: Counts, room: int, leaders: Floats, drawing: int, shown: Any, cross: Any) -> None:
    """Add the probabilities of the decision if one of these leads and the largest draw on its cross decides.

    `leaders` has the combinations and, in its second row, the weight of each.
    """
    sizes, rules = counts.sizes, counts.forbidden
    members = np.empty(cross_size(sizes) + room + 2, np.int64)
    most = len(members) * drawing
    table = _start_table(most if len(counts.keys) > 0 else min(len(counts.pulls), most))
    n_groups: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for index in range(drawing):
        for step in range(_members(sizes, rules, int(leaders[0, index]), members)):
            group = _counted_group(table, n_groups, counts, members[step])
            n_groups = max(n_groups, group + 1)
    curves = curves_of(table, n_groups)
    for index in range(drawing):
        count = _members(sizes, rules, int(leaders[0, index]), members)
        table[GROUP_SIZE, :n_groups] = 0
        for step in range(count):
            group = _counted_group(table, n_groups, counts, members[step])
            table[MEMBER_GROUP, step] = group
            table[GROUP_SIZE, group] += 1
        compare(table, n_groups, curves)
        for step in range(count):
            if is_asked_for(sizes, shown, members[step]):
                chance = win_chance(curves, table[MEMBER_GROUP, step])
                add_chance(sizes, shown, cross, members[step], leaders[1, index] * chance)


@kernel
def fill_cross_draws(
    counts: Counts, among: Any, led: Ints, last: int, every: Any, room: int, shown: Any, cross: Any
) -> None:
    """Fill in the probabilities of UTS.

    The leaders are `among` these: the slots from first to end with the best mean. Who led last has been counted for
    this decision already; every: UTS's own gamma and coin.
    """
    (first, end, best), (gamma, coin) = among, every
    pulls, clicks, keys, sizes, rules = counts.pulls, counts.clicks, counts.keys, counts.sizes, counts.forbidden
    leaders = np.empty((2, end - first))
    n_leaders: Any = np.int64(0)
    cross[:] = 0.0
    for slot in range(first, end):
        leads = (clicks[slot] / pulls[slot] if pulls[slot] > 0 else -1.0) == best
        if leads and may_show(counts, number_at(keys, slot)):
            leaders[0, n_leaders] = slot
            n_leaders += 1
    drawing: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for index in range(n_leaders):
        slot = int(leaders[0, index])
        forced = 1.0 if (led[slot] + (slot != last)) % gamma == 0 else 0.0
        if coin:
            forced = 1.0 / gamma
        add_chance(sizes, shown, cross, number_at(keys, slot), forced / n_leaders)
        # Before the first click all that were shown lead. Of most no cross reaches what is asked for.
        near = len(rules) > 0 or count_changes(sizes, shown, number_at(keys, slot)) <= 2
        if forced < 1.0 and near:
            leaders[0, drawing] = number_at(keys, slot)
            leaders[1, drawing] = (1.0 - forced) / n_leaders
            drawing += 1
    if drawing > 0:
        add_largest_draws(counts, room, leaders, drawing, shown, cross)


@noalloc
def show_chance(pulls: int, clicks: int, best: float, step: int) -> float:
    """Return how probably an insurance step shows a combination that has drawn the largest; `best` 0: in any case."""
    if pulls < FEWEST or clicks >= best * pulls:
        return 1.0
    against = pulls * bernoulli_kl(clicks / pulls, best)
    return STILL if against > FIRST + MORE * math.log(step) else 1.0


@kernel
def add_winner_of(
    members: Ints,
    count: int,
    counts: Counts,
    weight: float,
    best: float,
    step: int,
    alone: bool,
    shown: Any,
    cross: Any,
) -> float:
    """Add, times a weight, the probabilities of the decision if the largest draw of these members decides.

    Return the probability that the winner is not shown (`show_chance`; with a `best` of 0 it
    always is). `alone`: what `cross` has already is what happens otherwise, and is weighted here.
    """
    table, sizes = _start_table(count), counts.sizes
    n_groups: Any = np.int64(0)  # a plain 0 would be compiled for on its own
    for index in range(count):
        group = _counted_group(table, n_groups, counts, members[index])
        table[MEMBER_GROUP, index] = group
        table[GROUP_SIZE, group] += 1
        n_groups = max(n_groups, group + 1)
    curves = curves_of(table, n_groups)
    compare(table, n_groups, curves)
    passed_over = 0.0
    for group in range(n_groups):
        shows = show_chance(table[GROUP_PULLS, group], table[GROUP_CLICKS, group], best, step)
        if shows < 1.0:
            passed_over += (1.0 - shows) * table[GROUP_SIZE, group] * win_chance(curves, group)
    if alone:
        for level in range(len(cross)):
            cross[level] *= 1.0 - weight + weight * passed_over
    for index in range(count):
        if is_asked_for(sizes, shown, members[index]):
            group = table[MEMBER_GROUP, index]
            shows = show_chance(table[GROUP_PULLS, group], table[GROUP_CLICKS, group], best, step)
            add_chance(sizes, shown, cross, members[index], weight * shows * win_chance(curves, group))
    return passed_over


@kernel
def add_all_draws(
    pulls: Ints, clicks: Ints, sizes: Ints, rules: Ints, weight: float, best: float, step: int, shown: Any, cross: Any
) -> None:
    """Mix in, with a weight, the probabilities of the decision if the largest draw of all combinations decides."""
    own = np.empty(0, np.int64)  # slots are the combinations' numbers
    counts = Counts(pulls, clicks, own, own, sizes, rules)
    members, count = np.empty(len(pulls), np.int64), 0
    for number in range(len(pulls)):
        if may_show(counts, number):
            members[count] = number
            count += 1
    add_winner_of(members, count, counts, weight, best, step, True, shown, cross)
