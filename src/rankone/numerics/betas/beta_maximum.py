"""Which of very many Betas is largest? Drawn exactly, without drawing them all.

All but one of the pairs form a *crowd*; the one is *held out*: it is the likely winner, and its counts change at almost
every step.

Let F_c be the distribution function of member c and G_c = -log F_c. The members' draws are independent, so

    P(all members <= x) = exp(-H(x)),     H(x) = sum of G_c(x) over the members

which is also the chance that a shower of random points (a Poisson process) with G_c(x) points of member c to be
expected above x leaves the part above x dry. So the highest point of the shower has the law of the largest draw, and
its colour that of the member who drew it. A shower is drawn from the top down, on a grid of levels:

1. e ~ Exp(1): the highest point is where H = e; the grid tells between which two levels.
2. Held-out draw above that interval: it wins.
3. Otherwise let the shower fall on the interval alone, given that a point falls: the first point of each group, the
   highest of these, compared with the held-out draw if that lies there too.

Members with the same counts (pulls, clicks) have the same G: they form a *group*, the work is per group, and a member
of the winning group is drawn uniformly. No draw of the crowd is ever computed: it is known by its value of G, and two
draws are compared by asking on which side of a few points they lie.

Quick path. Let x_q be a level that the held-out draw falls short of with probability below e^-46. If u <= exp(-H(x_q))
for a uniform u, the held-out one wins: no group is looked at. Late in a run nearly all steps are like that. For a
handful of members of whom several win often, plain draws are cheaper (`is_cheaper`).

Exact up to probabilities of e^-46 and the rounding of H (summed afresh every few thousand changes).
"""

import math
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import NEVER, draw_beta, log_coefficient, minus_log_cdf
from rankone.numerics.structures.hash_tables import NOBODY, find, rekey, start_chains

# Even steps in the middle, ever finer ones towards 0 (low click rates) and towards 1.
LEVELS = np.concatenate(
    [[0.0], np.geomspace(1e-6, 0.01, 40)[:-1], np.linspace(0.01, 0.95, 100), 1.0 - np.geomspace(0.045, 2e-4, 19), [1.0]]
)
N_LEVELS = len(LEVELS)

# Columns of `BetaGroups.seats` and `BetaGroups.groups`; the first four are those of chains (`hash_tables`).
GROUP, RANK, _NEXT, _HEAD, MEMBER, SEAT = range(6)
PULLS, CLICKS, _NEXT, _HEAD, SIZE = range(5)
# What comes after the levels in `BetaGroups.curves`: the coefficient of a group; exp(-H) at the quick level.
COEFFICIENT = CALM = N_LEVELS
# Fields of `BetaGroups.group_counters`.
GROUPS_N_ALIVE, GROUPS_HAND, GROUPS_ROOM, GROUPS_CHANGES, GROUPS_QUICK, GROUPS_RENEW_AT, GROUPS_CREDIT = range(7)

_SPARE_SLOTS = 64
_CHANGES_BETWEEN_SUMS = 4096
_PRICE = 200  # what G of a new group costs, in draws from a Beta
_MOST_CREDIT, _LEAST_CREDIT = 50 * _PRICE, -10 * _PRICE


class BetaGroups(NamedTuple):
    """The arrays of a crowd; a policy's state has these fields among its own.

    A group's members sit on its seats 0, 1, 2, ... A group that runs empty stays until its slot is needed: a hand goes
    round the first `GROUPS_ROOM` slots in search of empty ones.
    """

    seats: Ints  # (n or more, 6) found by (group, rank in the group); who sits there; and the seat of each member
    groups: Ints  # (slots or more, 5) found by counts; size
    curves: Floats  # (slots + 1, levels + 1) G of each group and, last, `log_coefficient`; last row: H and, last, calm
    group_counters: Ints  # (7,) living groups; hand and room; changes since H was summed; quick level, valid until
    # these pulls; credit (see `is_cheaper`)


def fields_with_beta_groups(*fields: str) -> Any:
    """Return the base class of a state with these fields and those of a crowd."""
    return namedtuple("fields_with_beta_groups", (*fields, *BetaGroups._fields))


def start_beta_groups(n_members: int, absent: int = 0) -> BetaGroups:
    """Return a crowd without outcomes: members 0, 1, ... but for the last ones, who are absent."""
    present, slots = n_members - absent, n_members + _SPARE_SLOTS
    seats = start_chains(n_members, present, 6)
    seats[:, MEMBER] = seats[:, SEAT] = np.arange(len(seats))
    groups = start_chains(slots, 1, 5)
    groups[:, SIZE] = 0
    groups[0, SIZE] = present
    curves = np.zeros((slots + 1, N_LEVELS + 1))
    curves[0, :CALM] = -np.log(np.maximum(LEVELS, math.exp(-NEVER)))  # Beta(1, 1)
    curves[slots, :CALM] = present * curves[0, :CALM]
    return BetaGroups(seats, groups, curves, np.array([1, 1, _SPARE_SLOTS, 0, 0, 0, 0]))


@inlined
def beta_groups_of(state: Any) -> BetaGroups:
    """Return the crowd of a policy's state: its kernels are compiled once for all policies, and called with less."""
    return BetaGroups(state.seats, state.groups, state.curves, state.group_counters)


@inlined
def note_cost(crowd: Any) -> None:
    """Pay for a new group, real or one that there would be if the crowd were in use."""
    if crowd.group_counters[GROUPS_CREDIT] > _LEAST_CREDIT:
        crowd.group_counters[GROUPS_CREDIT] -= _PRICE


@inlined
def is_cheaper(crowd: Any, members: int) -> bool:
    """Tell whether the crowd costs less than drawing for each of its members; call it once for each challenge.

    A challenge saves draws and so earns credit; a new group costs some. Without credit the crowd is left alone.
    """
    credit = crowd.group_counters[GROUPS_CREDIT]
    if credit < _MOST_CREDIT:
        crowd.group_counters[GROUPS_CREDIT] = credit + members
    return credit >= 0


@noalloc
def group_with(crowd: BetaGroups, pulls: int, clicks: int) -> int:
    """Return the group with these counts, made in an empty slot if there is none."""
    groups, group_counters = crowd.groups, crowd.group_counters
    group = find(groups, pulls, clicks)
    if group == NOBODY:
        if 4 * group_counters[GROUPS_N_ALIVE] > 3 * group_counters[GROUPS_ROOM]:
            more = group_counters[GROUPS_ROOM] + (group_counters[GROUPS_ROOM] >> 1)
            group_counters[GROUPS_ROOM] = more if more < len(crowd.curves) else len(crowd.curves) - 1
        group = group_counters[GROUPS_HAND]
        while groups[group, SIZE] > 0:
            group = group + 1 if group + 1 < group_counters[GROUPS_ROOM] else 0
        group_counters[GROUPS_HAND] = group
        rekey(groups, group, pulls, clicks)
        note_cost(crowd)
        coefficient = crowd.curves[group, COEFFICIENT] = log_coefficient(pulls, clicks)
        for level in range(N_LEVELS):
            crowd.curves[group, level] = minus_log_cdf(pulls, clicks, coefficient, LEVELS[level])
    return group


@noalloc
def replace(crowd: BetaGroups, member: int, newcomer: int) -> None:
    """Let a newcomer take a member's seat; its counts have to be told by `regroup`."""
    seat = crowd.seats[member, SEAT]
    crowd.seats[seat, MEMBER] = newcomer
    crowd.seats[newcomer, SEAT] = seat


@noalloc
def sum_afresh(crowd: BetaGroups) -> None:
    """Sum H over all members: the differences leave rounding errors."""
    groups, curves, total = crowd.groups, crowd.curves, len(crowd.curves) - 1
    crowd.group_counters[GROUPS_CHANGES] = 0
    for level in range(N_LEVELS):
        height = 0.0
        for group in range(crowd.group_counters[GROUPS_ROOM]):
            height += groups[group, SIZE] * curves[group, level]
        curves[total, level] = height


@inlined
def regroup(state: Any, member: int, pulls: int, clicks: int) -> None:
    """Move a member of a state's crowd to the group with these counts; most are there when a whole crowd moves."""
    group = state.seats[state.seats[member, SEAT], GROUP]
    if state.groups[group, PULLS] != pulls or state.groups[group, CLICKS] != clicks:
        move_member(beta_groups_of(state), member, pulls, clicks)


@noalloc
def move_member(crowd: BetaGroups, member: int, pulls: int, clicks: int) -> None:
    """Move a member to the group with these counts."""
    seats, groups, curves, group_counters = crowd.seats, crowd.groups, crowd.curves, crowd.group_counters
    seat = seats[member, SEAT]
    left, joined = seats[seat, GROUP], group_with(crowd, pulls, clicks)
    if joined == left:
        return
    # The last seat of the old group goes to the new one; who sat there takes the seat that becomes free.
    groups[left, SIZE] -= 1
    last = find(seats, left, groups[left, SIZE])
    replace(crowd, member, seats[last, MEMBER])
    rekey(seats, last, joined, groups[joined, SIZE])
    seats[last, MEMBER], seats[member, SEAT] = member, last
    groups[joined, SIZE] += 1
    group_counters[GROUPS_N_ALIVE] += int(groups[joined, SIZE] == 1) - int(groups[left, SIZE] == 0)
    total, n_levels = len(curves) - 1, curves.shape[1] - 1  # a constant would make the compiler unroll
    for level in range(n_levels):
        curves[total, level] += curves[joined, level] - curves[left, level]
    group_counters[GROUPS_CHANGES] += 1
    if group_counters[GROUPS_CHANGES] == _CHANGES_BETWEEN_SUMS:
        sum_afresh(crowd)
    curves[total, CALM] = math.exp(-curves[total, group_counters[GROUPS_QUICK]])


@noalloc
def renew_quick_level(crowd: BetaGroups, pulls: int, clicks: int) -> None:
    """Find the quick level, good for the next 16 + pulls / 64 outcomes of the held-out one even if none is a click."""
    group_counters = crowd.group_counters
    group_counters[GROUPS_RENEW_AT] = pulls + 16 + (pulls >> 6)
    coefficient = log_coefficient(group_counters[GROUPS_RENEW_AT], clicks)
    low, high = 0, N_LEVELS - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if minus_log_cdf(group_counters[GROUPS_RENEW_AT], clicks, coefficient, LEVELS[middle]) >= NEVER:
            low = middle
        else:
            high = middle
    group_counters[GROUPS_QUICK] = low
    total = len(crowd.curves) - 1
    crowd.curves[total, CALM] = math.exp(-crowd.curves[total, low])


@noalloc
def is_above(crowd: BetaGroups, group: int, value: float, x: float) -> bool:
    """Tell whether a draw of the group, known by its value of G, is above x."""
    groups = crowd.groups
    return value < minus_log_cdf(groups[group, PULLS], groups[group, CLICKS], crowd.curves[group, COEFFICIENT], x)


@noalloc
def fall(crowd: BetaGroups, level: int, held_out: float, rng: Any) -> int:
    """Let points fall between two levels, given that one does; return the group of the highest point, NOBODY if that
    is below the held-out draw.

    Lay the groups' shares of the interval on a line. The first point on the line is an exponential variable, given
    that it is on the line at all. Of each group only its first, that is highest, point counts; then the next starts.
    """
    groups, curves = crowd.groups, crowd.curves
    total = len(curves) - 1
    ahead = -math.log1p(rng.random() * math.expm1(curves[total, level + 1] - curves[total, level]))
    best, best_value = NOBODY, 0.0
    for group in range(crowd.group_counters[GROUPS_ROOM]):
        share = groups[group, SIZE] * (curves[group, level] - curves[group, level + 1])
        if ahead >= share:
            ahead -= share
            continue
        value = curves[group, level + 1] + ahead / groups[group, SIZE]
        ahead = -math.log1p(-rng.random())
        low, high, above = LEVELS[level], LEVELS[level + 1], best == NOBODY
        best_above = False
        while above == best_above:  # halve until the two draws are in different halves
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            above, best_above = is_above(crowd, group, value, middle), is_above(crowd, best, best_value, middle)
            if above:
                low = middle
            else:
                high = middle
        if above and not best_above:
            best, best_value = group, value
    if best != NOBODY and held_out > LEVELS[level] and not is_above(crowd, best, best_value, held_out):
        return NOBODY
    return best


@noalloc
def slow_challenge(crowd: BetaGroups, uniform: float, pulls: int, clicks: int, rng: Any) -> int:
    """The challenge when the quick path does not decide it."""
    total = len(crowd.curves) - 1
    # Between which levels is H = e? H falls; bisect between the quick level and the top.
    exponential = -math.log(uniform)
    level, top = crowd.group_counters[GROUPS_QUICK], N_LEVELS - 1
    while top - level > 1:
        middle = (level + top) >> 1
        if crowd.curves[total, middle] > exponential:
            level = middle
        else:
            top = middle
    held_out = draw_beta(pulls, clicks, rng)
    group = fall(crowd, level, held_out, rng) if held_out < LEVELS[level + 1] else NOBODY
    if group == NOBODY:
        return NOBODY
    seat = find(crowd.seats, group, int(rng.random() * crowd.groups[group, SIZE]))
    return crowd.seats[seat, MEMBER]


@inlined
def challenge(state: Any, pulls: int, clicks: int, rng: Any) -> int:
    """Draw for the crowd and for one held out, with these counts; return the winning member, NOBODY for the latter."""
    crowd = beta_groups_of(state)
    if pulls >= crowd.group_counters[GROUPS_RENEW_AT]:
        renew_quick_level(crowd, pulls, clicks)
    uniform = 1.0 - rng.random()
    if uniform <= crowd.curves[len(crowd.curves) - 1, CALM]:
        return NOBODY
    return slow_challenge(crowd, uniform, pulls, clicks, rng)
