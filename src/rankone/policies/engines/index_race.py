"""The race between groups: which pair has the largest index now, and for how long nobody else can overtake it.

For policies that choose the pair with the largest index, where the index depends on the pair's counts and grows, ever
more slowly, with an exploration level f(t): UCB1, KL-UCB. Exact: the same pairs as looking at every index every step. A
pair without an outcome comes first. Ties go to the pair chosen longest ago, and among pairs never chosen to a random
one. In a live experiment that starts afresh, time goes on: outcomes known from before count as decisions made.

::

    index
      |
      |  *   *  the held pair, outcome by outcome:
      |    *   *   *   it plays on while above the bar
      |          *
      |- - - - - - - - - - - - - - - - - - - -o- - -  the bar: the highest tangent at LATER
      |                               . '     |
      |                        . '     _.--   |       . '  a rival's tangent, never below ...
      |                 . '  _.--             |       _.-  ... the rival's index
      |          . '_.--                      |
      |    . '_.-                             |
      +---+-----------------------------------+-----> exploration level f(t)
         NOW = f(t)                     LATER = f(t + look-ahead)

* An index is concave in f, so its tangent bounds it from above. One tangent a group, renewed when t has grown by 3%,
  tells with a multiplication how far the group can get; `search` computes true indices only for groups whose tangent
  reaches the best index so far.
* The winner's index at NOW is compared with the rivals' bounds at LATER. As long as it stays above, the pair plays on
  without another look at the groups, whatever its own outcomes do to it; the test, ``level_needed(counts, bar) < NOW``,
  needs no root. When it falls back, the next pair of its group takes over if the group still leads.
* The look-ahead doubles when it ran out and halves when a rival came too close at once.
* The bars are raised by `ABOVE`, far more than rounding can do, so that near-ties are always settled by true indices.

A policy's state is a class derived from `IndexState` for which `exploration_level`, `index_at`, `index_slope` and
`level_needed` are registered; the index of KL-UCB, which lists use too, is here (`goes_by_kl`).
"""

import math
from typing import Any

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import View, chances, decide, learn, prepare, relearn, view
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.combination_policy import combination_view
from rankone.policies.engines.combinations import (
    add_chance,
    is_forbidden,
    learn_combination,
    may_show,
    record_outcome,
    relearn_combination,
    write_levels,
)
from rankone.policies.engines.index_groups import (
    BAR,
    CHOSEN,
    CLICKS,
    CONSTANT,
    LATER,
    NEVER,
    NOBODY,
    NOW,
    PULLS,
    QUEUE_FIRST,
    RACE_ASKED,
    RACE_HELD,
    RACE_HELD_CHOSEN,
    RACE_HELD_PULLS,
    RACE_LEADER,
    RACE_LOOK_AHEAD,
    RACE_MAX_GROUPS,
    RACE_N_GROUPS,
    RACE_RENEW_AT,
    RACE_SEARCHED_AT,
    RACE_VALID_UNTIL,
    RIVALS,
    SPARE_GROUPS,
    TOUCHED,
    IndexState,
    drop_empty_groups,
    group_of,
    join,
    leave,
    queue_all,
)

# Relative; thousands of times the rounding of an index, and far less than what one outcome changes.
ABOVE = 1.0 + 1e-12


@dispatched
def exploration_level(state: Any, asked: int) -> float:
    """Exploration level f after so many decisions; it never falls."""
    raise NotImplementedError


@dispatched
def index_at(state: Any, pulls: int, clicks: int, level: float) -> float:
    """Index of a pair with these counts, pulls above 0, at an exploration level: concave and rising in it."""
    raise NotImplementedError


@dispatched
def index_slope(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    """Derivative of the index by the level."""
    raise NotImplementedError


@dispatched
def level_needed(state: Any, pulls: int, clicks: int, index: float) -> float:
    """Level at which the index of these counts reaches `index`; 0 if it is always beyond."""
    raise NotImplementedError


def goes_by_kl(state_class: type) -> None:
    """Register the index of KL-UCB, ``max{q : pulls * d(mean, q) <= log t + c log log t}``, c the state's constant."""
    exploration_level.register(state_class)(_kl_level)
    index_at.register(state_class)(_kl_index)
    index_slope.register(state_class)(_kl_slope)
    level_needed.register(state_class)(_kl_level_needed)


def _kl_level(state: Any, asked: int) -> float:
    level = math.log(asked) if asked > 1 else 0.0
    return level + state.levels[CONSTANT] * math.log(level) if level > 1.0 else level


def _kl_index(state: Any, pulls: int, clicks: int, level: float) -> float:
    return kl_upper(clicks / pulls, level / pulls)


def _kl_slope(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    return index * (1.0 - index) / (pulls * index - clicks) if index < 1.0 else 0.0


def _kl_level_needed(state: Any, pulls: int, clicks: int, index: float) -> float:
    if index >= 1.0:  # also for a pair always clicked: its index is 1, which is not beyond
        return math.inf
    mean = clicks / pulls
    return pulls * bernoulli_kl(mean, index) if mean < index else 0.0


@noalloc
def draw_tangent(state: Any, group: int) -> None:
    """Draw the line that touches the group's index at level TOUCHED. Without an outcome the index is infinite."""
    pulls, clicks, level = state.groups[group, PULLS], state.groups[group, CLICKS], state.levels[TOUCHED]
    index, slope = math.inf, 0.0
    if pulls > 0:
        index = index_at(state, pulls, clicks, level)
        slope = index_slope(state, pulls, clicks, level, index)
    state.tangents[group, 0] = index - slope * level
    state.tangents[group, 1] = slope


@inlined
def bound(state: Any, group: int) -> float:
    """Return a bound above the group's index up to level LATER."""
    return (state.tangents[group, 0] + state.tangents[group, 1] * state.levels[LATER]) * ABOVE


@noalloc
def renew(state: Any) -> None:
    """Tidy the groups up and draw their tangents for the next 3% of time. Who leads is open again."""
    counters = state.counters
    drop_empty_groups(state)
    counters[RACE_MAX_GROUPS] = 2 * counters[RACE_N_GROUPS] + SPARE_GROUPS
    counters[RACE_RENEW_AT] = counters[RACE_ASKED] + (counters[RACE_ASKED] >> 5) + 8
    counters[RACE_VALID_UNTIL], counters[RACE_LEADER] = NEVER, 0
    state.levels[TOUCHED] = exploration_level(state, counters[RACE_ASKED] + (counters[RACE_ASKED] >> 6) + 4)
    for group in range(counters[RACE_N_GROUPS]):
        draw_tangent(state, group)


@noalloc
def search(state: Any) -> None:
    """Find the group with the largest index (RACE_LEADER), and what no other can exceed before LATER (RIVALS)."""
    counters, levels = state.counters, state.levels
    groups, asked = state.groups, counters[RACE_ASKED]
    if counters[RACE_VALID_UNTIL] != NEVER and asked > counters[RACE_VALID_UNTIL]:
        if counters[RACE_LOOK_AHEAD] < asked >> 6:
            counters[RACE_LOOK_AHEAD] <<= 1
    elif asked < counters[RACE_SEARCHED_AT] + 4:
        counters[RACE_LOOK_AHEAD] = (counters[RACE_LOOK_AHEAD] + 1) >> 1
    if asked >= counters[RACE_RENEW_AT]:
        renew(state)
    levels[NOW] = exploration_level(state, asked)
    levels[LATER] = exploration_level(state, asked + counters[RACE_LOOK_AHEAD])
    # Only a group whose tangent reaches the best index so far needs its true index. Begin with the last leader.
    leader, n_groups = counters[RACE_LEADER], counters[RACE_N_GROUPS]
    index, reach, rivals = -1.0, -1.0, -1.0
    for position in range(leader, leader + n_groups):
        group = position if position < n_groups else position - n_groups
        height = bound(state, group)
        if (height >= index or height > rivals) and groups[group, QUEUE_FIRST] != NOBODY:
            if height >= index:
                challenger = index_now(state, group)
                if challenger > index or (challenger == index and waits_longer(state, group, leader)):
                    leader, index = group, challenger
                    height, reach = reach, height  # the former leader is a rival now
            if height > rivals:
                rivals = height
    levels[RIVALS] = rivals
    counters[RACE_LEADER] = leader
    counters[RACE_SEARCHED_AT] = asked
    counters[RACE_VALID_UNTIL] = asked + counters[RACE_LOOK_AHEAD]


@noalloc
def index_now(state: Any, group: int) -> float:
    """Return the group's index at level NOW; infinite without an outcome."""
    pulls, clicks = state.groups[group, PULLS], state.groups[group, CLICKS]
    return index_at(state, pulls, clicks, state.levels[NOW]) if pulls > 0 else math.inf


@noalloc
def waits_longer(state: Any, group: int, other: int) -> bool:
    """Tell whether the pair whose turn is next in the group was chosen longer ago than the other group's."""
    first, second = state.groups[group, QUEUE_FIRST], state.groups[other, QUEUE_FIRST]
    return state.pairs[first, CHOSEN] < state.pairs[second, CHOSEN]


@inlined
def enter(state: Any, combination: int) -> None:
    """Let the held pair join the group of its counts; if that group is not the leader, it is a rival."""
    counters, levels = state.counters, state.levels
    if counters[RACE_N_GROUPS] == counters[RACE_MAX_GROUPS]:
        renew(state)
    n_groups = counters[RACE_N_GROUPS]
    group = group_of(state, state.pairs[combination, PULLS], state.pairs[combination, CLICKS])
    if group == n_groups:
        draw_tangent(state, group)
    join(state, group, combination)
    height = bound(state, group)
    if height > levels[RIVALS] and group != counters[RACE_LEADER]:
        levels[RIVALS] = height


@inlined
def hold(state: Any, group: int, combination: int) -> None:
    """Take the pair out of its group and hold it; its bar is what the leader's other pairs and the rivals can reach."""
    counters, levels = state.counters, state.levels
    leave(state, group, combination)
    counters[RACE_HELD] = combination
    write_levels(state.sizes, combination, state.held)
    counters[RACE_HELD_PULLS] = state.pairs[combination, PULLS]
    levels[BAR] = levels[RIVALS]
    if state.groups[counters[RACE_LEADER], QUEUE_FIRST] != NOBODY and bound(state, counters[RACE_LEADER]) > levels[BAR]:
        levels[BAR] = bound(state, counters[RACE_LEADER])


@noalloc
def hold_instead(state: Any, combination: int) -> None:
    """Hold another pair than the one now held."""
    enter(state, state.counters[RACE_HELD])
    hold(state, group_of(state, state.pairs[combination, PULLS], state.pairs[combination, CLICKS]), combination)


@noalloc
def queue_allowed(state: Any, rng: Any) -> None:
    """Put every pair that may be shown into the group without outcomes, in random order."""
    queue_all(state, rng)
    if len(state.forbidden) > 0:
        for combination in range(len(state.pairs)):
            if is_forbidden(state.sizes, state.forbidden, combination):
                leave(state, 0, combination)


@decide.register(IndexState)
def choose_largest(state: Any, context: Any, rng: Any, shown: Any) -> int:
    """Choose the pair with the largest index, ties to the one chosen longest ago."""
    counters, levels = state.counters, state.levels
    pairs, groups = state.pairs, state.groups
    asked, held = counters[RACE_ASKED], counters[RACE_HELD]
    if not (
        asked <= counters[RACE_VALID_UNTIL]
        and pairs[held, PULLS] > counters[RACE_HELD_PULLS]  # else it ties with its group
        and level_needed(state, pairs[held, PULLS], pairs[held, CLICKS], levels[BAR]) < levels[NOW]
    ):
        if held == NOBODY:
            queue_allowed(state, rng)
        else:
            enter(state, held)
        leader = counters[RACE_LEADER]
        if not (
            asked <= counters[RACE_VALID_UNTIL]
            and groups[leader, QUEUE_FIRST] != NOBODY
            and level_needed(state, groups[leader, PULLS], groups[leader, CLICKS], levels[RIVALS]) < levels[NOW]
        ):
            search(state)
            leader = counters[RACE_LEADER]
        held = groups[leader, QUEUE_FIRST]
        hold(state, leader, held)
    counters[RACE_HELD_CHOSEN] = pairs[held, CHOSEN]  # `chances` has to know whether it was ever chosen before
    pairs[held, CHOSEN] = asked
    counters[RACE_ASKED] = asked + 1
    shown[0] = state.held[0]
    if len(state.held) == 2:  # the loop below costs more than a pair
        shown[1] = state.held[1]
        return 0
    for factor in range(1, len(state.held)):
        shown[factor] = state.held[factor]
    return 0


@prepare.register(IndexState)
def hold_any(state: Any, rng: Any) -> None:
    """Lay out the queue of a state that has just started and hold a pair, as if it were about to be chosen."""
    queue_allowed(state, rng)
    search(state)
    hold(state, state.counters[RACE_LEADER], state.groups[state.counters[RACE_LEADER], QUEUE_FIRST])


@record_outcome.register(IndexState)
def _record_outcome(state: Any, combination: int, clicked: int) -> None:
    """Count an outcome. A pair whose outcome comes late is held for it: while in a group, its counts are fixed."""
    if not may_show(state, combination):
        return
    if combination != state.counters[RACE_HELD]:
        hold_instead(state, combination)
    state.pairs[combination, PULLS] += 1
    state.pairs[combination, CLICKS] += clicked


learn.register(IndexState)(learn_combination)
_relearn_combination = inlined(relearn_combination)


@relearn.register(IndexState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    _relearn_combination(state, shown, pulls, clicks)
    state.counters[RACE_ASKED] += pulls


@noalloc
def ties_with_held(state: Any, combination: int, level: float) -> bool:
    """Tell whether a pair might as well have been chosen as the one held: never chosen either, with the same index."""
    pairs, held = state.pairs, state.counters[RACE_HELD]
    if combination == held:
        return True
    if not may_show(state, combination):
        return False
    if pairs[combination, CHOSEN] >= 0 or state.counters[RACE_HELD_CHOSEN] >= 0:
        return False
    if pairs[combination, PULLS] == 0 or pairs[held, PULLS] == 0:
        return pairs[combination, PULLS] == pairs[held, PULLS]
    index = index_at(state, pairs[held, PULLS], pairs[held, CLICKS], level)
    return index_at(state, pairs[combination, PULLS], pairs[combination, CLICKS], level) == index


@chances.register(IndexState)
def _chances(state: Any, shown: Any, cross: Any) -> bool:
    """Only ties between pairs never chosen are left to chance: their order was drawn, but nobody has seen it yet."""
    cross[:] = 0.0
    counters, tied = state.counters, 1
    first, end, level = counters[RACE_HELD], counters[RACE_HELD] + 1, exploration_level(state, counters[RACE_ASKED] - 1)
    if counters[RACE_HELD_CHOSEN] < 0:
        first, end, tied = 0, len(state.pairs), 0
        for combination in range(end):
            tied += ties_with_held(state, combination, level)
    for combination in range(first, end):
        if ties_with_held(state, combination, level):
            add_chance(state.sizes, shown, cross, combination, 1.0 / tied)
    return True


@view.register(IndexState)
def _view(state: Any) -> View | None:
    level = exploration_level(state, int(state.counters[RACE_ASKED]))
    counts = zip(state.pulls.tolist(), state.clicks.tolist(), strict=True)
    index = np.array([index_at(state, pulls, clicks, level) if pulls else np.inf for pulls, clicks in counts])
    return combination_view(
        state, np.full(len(index), np.nan), index, "mean and index: the largest index is shown next"
    )
