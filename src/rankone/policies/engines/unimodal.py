"""What the unimodal policies share: the leader and its cross.

A rank-1 problem is unimodal (Trinh et al. 2020, section 2), and so is a product of any number of factors: from every
combination that is not best, some change of one factor leads to a better one. So the *leader*, with the best empirical
mean, is compared with its *cross*, the combinations that differ from it in one factor. Only combinations with an
outcome can lead; before the first outcome any does. Ties are broken afresh at random at every decision: a fixed order
would stay forever on a row whose true mean is 0.

A policy derives its state from `LeaderState` and registers `score`: the highest score among the leader and its cross is
chosen. One that chooses otherwise registers `decide` as well. Where combinations are forbidden, what the leader
*reaches* takes the place of its cross (`rankone.policies.engines.combinations`).

What is counted is kept by *slot*. Up to a million combinations, or ten million pairs, a slot is the combination's
number; beyond, combinations get slots as their first outcomes come, and there is `room` for as many as Python makes.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.compiling.tiers import tiered
from rankone.kernels.policy import ANY_NUMBER, View, decide, grown, room, view
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.numerics.structures.hash_tables import NO_SLOT, NOBODY, give_slot, number_at, slot_of, start_slots
from rankone.numerics.structures.trees import draw_best, set_value, start_tournament
from rankone.policies.combination_policy import allowed_mask, combination_view, first_allowed, most_kept, posterior_view
from rankone.policies.engines.combinations import (
    gather_reach,
    is_forbidden,
    learns_combinations,
    may_show,
    record_outcome,
    room_to_reach,
    write_levels,
)

State = TypeVar("State")

# Fields of `LeaderState.counters`.
LEADER_CHAMPION, LEADER_LAST, LEADER_CROSS, LEADER_USED, LEADER_CENTRE, LEADER_REACHED, LEADER_ALL = range(7)
_NO_OUTCOME, _ABSENT = -1.0, -2.0  # below every mean
_FIRST_SLOTS = 1 << 10


class LeaderState(NamedTuple):
    """Counts of the combinations, by slot, and who leads.

    The champion is the combination that led last. It stays outside the tree, so that its steady wins cost nothing.
    """

    pulls: Ints  # (slots,) outcomes
    clicks: Ints  # (slots,) clicks among them
    led: Ints  # (slots,) decisions at which the combination was leader
    best: Floats  # (2 slots,) tournament of the means of all but the champion
    ties: Ints  # (2 slots,) its counts of ties
    counters: Ints  # (7,) slots of the champion and of who led at the last decision; combinations on a cross; slots in
    # use; around which combination `reach` lies, and how many it has; combinations in all
    constants: Floats  # of the policy
    sizes: Ints  # (D,) levels of each factor
    forbidden: Ints  # (rules, D) what is never shown
    reach: Ints  # what the combination reaches around which it lies
    keys: Ints  # (slots,) the combination of each slot; empty: it is the slot itself
    table: Ints  # where to find the slot of a combination


def start_leaders(state_class: Callable[..., State], sizes: Ints, forbidden: Ints, *constants: float) -> State:
    """Return the state before the first decision."""
    n = math.prod(sizes.tolist())
    first, keys, table = 0, np.empty(0, np.int64), np.empty(0, np.int64)
    if n > most_kept(sizes):
        means = np.full(_FIRST_SLOTS, _ABSENT)
        means[-1] = _NO_OUTCOME  # so that the champion, without an outcome, has to ask for every decision
        keys, table = start_slots(_FIRST_SLOTS)
        keys[0] = first_allowed(sizes, forbidden)
    else:
        means = np.where(allowed_mask(sizes, forbidden), _NO_OUTCOME, _ABSENT)
        first = int(np.argmax(means))
        means[first] = _ABSENT
    best, ties = start_tournament(means)
    pulls, clicks, led = np.zeros((3, len(means)), np.int64)
    counters = np.array([first, NOBODY, (sizes - 1).sum(), 0, NOBODY, 0, n])
    reach = np.zeros(room_to_reach(sizes, forbidden), np.int64)
    given = np.array(constants, np.float64)
    return state_class(pulls, clicks, led, best, ties, counters, given, sizes, forbidden, reach, keys, table)


@inlined
def pulls_of(state: LeaderState, combination: int) -> int:
    """Outcomes of a combination."""
    slot = slot_of(state.keys, state.table, combination)
    return state.pulls[slot] if slot != NO_SLOT else 0


@inlined
def clicks_of(state: LeaderState, combination: int) -> int:
    """Clicks of a combination."""
    slot = slot_of(state.keys, state.table, combination)
    return state.clicks[slot] if slot != NO_SLOT else 0


@inlined
def led_of(state: LeaderState, combination: int) -> int:
    """How often a combination has led."""
    slot = slot_of(state.keys, state.table, combination)
    return state.led[slot] if slot != NO_SLOT else state.led[state.counters[LEADER_CHAMPION]]


@inlined
def mean_at(state: LeaderState, slot: int) -> float:
    """Empirical mean of the combination at a slot."""
    return state.clicks[slot] / state.pulls[slot] if state.pulls[slot] > 0 else _NO_OUTCOME


@inlined
def mean_of(state: LeaderState, combination: int) -> float:
    """Empirical mean of a combination."""
    slot = slot_of(state.keys, state.table, combination)
    return mean_at(state, slot) if slot != NO_SLOT else _NO_OUTCOME


@noalloc
def change_leader(state: LeaderState, rng: Any) -> int:
    """Return the slot of the leader, a random one of the tied, when the champion is not alone at the top."""
    best, ties, leader = state.best, state.ties, state.counters[LEADER_CHAMPION]
    mean = mean_at(state, leader)
    if len(state.keys) > 0 and state.pulls[leader] == 0:  # nothing is known: any combination leads, at the first slot
        state.led[leader] = 0
        state.keys[leader] = int(rng.random() * state.counters[LEADER_ALL])
        while is_forbidden(state.sizes, state.forbidden, state.keys[leader]):
            state.keys[leader] = int(rng.random() * state.counters[LEADER_ALL])
        return leader
    if mean < best[1]:
        set_value(best, ties, leader, mean)
        mean = best[1]
        leader = state.counters[LEADER_CHAMPION] = draw_best(best, ties, rng)
        set_value(best, ties, leader, _ABSENT)
    if mean == best[1] and rng.random() * (ties[1] + 1) < ties[1]:
        leader = draw_best(best, ties, rng)
    return leader


@inlined
def find_leader(state: LeaderState, rng: Any) -> int:
    """Return the combination with the best empirical mean, ties at random, and count that it led."""
    leader = state.counters[LEADER_CHAMPION]
    if mean_at(state, leader) <= state.best[1]:
        leader = change_leader(state, rng)
    state.led[leader] += 1
    state.counters[LEADER_LAST] = leader
    return number_at(state.keys, leader)


@noalloc
def reached(state: LeaderState, leader: int) -> int:
    """Return how many combinations are compared with the leader, those in `reach`: its cross, or what it reaches."""
    counters = state.counters
    if counters[LEADER_CENTRE] != leader:
        counters[LEADER_CENTRE] = leader
        counters[LEADER_REACHED] = gather_reach(state.sizes, state.forbidden, leader, state.reach)
    return counters[LEADER_REACHED]


@dispatched
def score(state: Any, leader: int, combination: int, best: float, rng: Any) -> float:
    """How much a combination of the cross deserves the decision; any value below `best` if it cannot be above."""
    raise NotImplementedError


@noalloc
def best_on_cross(state: Any, leader: int, rng: Any) -> int:
    """Return the combination with the highest score among the leader and its cross, ties at random."""
    result, tied, best = leader, 1, score(state, leader, leader, -np.inf, rng)
    for index in range(reached(state, leader)):
        combination = state.reach[index]
        value = score(state, leader, combination, best, rng)
        if value > best:
            result, tied, best = combination, 1, value
        elif value == best:
            tied += 1
            if rng.random() * tied < 1.0:
                result = combination
    return result


@noalloc
def kl_index(state: LeaderState, combination: int, level: float, best: float) -> float:
    """Return ``max{q : pulls * d(mean, q) <= level}``; the mean, where a look shows that this is below `best`."""
    pulls, mean = pulls_of(state, combination), mean_of(state, combination)
    if best > mean and pulls * bernoulli_kl(mean, best) > 1.000001 * level + 1e-12:
        return mean
    return kl_upper(mean, level / pulls)


@noalloc
def new_slot(state: LeaderState, combination: int) -> int:
    """Return a slot for a combination that has none: the first, if nothing is known so far."""
    used = state.counters[LEADER_USED]
    if used == len(state.keys):  # never, if whoever drives the policy sees that there is `room`
        return NO_SLOT
    give_slot(state.keys, state.table, combination, used)
    state.counters[LEADER_USED] += 1
    return used


@record_outcome.register(LeaderState)
def _record_outcome(state: LeaderState, combination: int, clicked: int) -> None:
    """Count an outcome and note the combination's new mean."""
    slot = slot_of(state.keys, state.table, combination)
    if slot == NO_SLOT:
        slot = new_slot(state, combination)
    if slot == NO_SLOT or not may_show(state, combination):
        return
    state.pulls[slot] += 1
    state.clicks[slot] += clicked
    if slot != state.counters[LEADER_CHAMPION]:
        set_value(state.best, state.ties, slot, state.clicks[slot] / state.pulls[slot])


count_outcome = inlined(_record_outcome)
learns_combinations(LeaderState)


@noalloc
def forget_leaders(state: LeaderState) -> None:
    """Forget all outcomes: everybody may lead again. Where counts of all combinations are kept only."""
    champion = state.counters[LEADER_CHAMPION]
    for slot in range(len(state.pulls)):
        state.pulls[slot] = state.clicks[slot] = state.led[slot] = 0
        if slot != champion and may_show(state, slot):
            set_value(state.best, state.ties, slot, _NO_OUTCOME)


@decide.register(LeaderState)
def _decide(state: LeaderState, context: Any, rng: Any, shown: Any) -> int:
    write_levels(state.sizes, best_on_cross(state, find_leader(state, rng), rng), shown)
    return 0


@room.register(LeaderState)
def _room(state: LeaderState) -> int:
    return len(state.keys) - state.counters[LEADER_USED] if len(state.keys) else ANY_NUMBER


@grown.register(LeaderState)
def _grown(state: Any, more: int) -> Any:
    """Return the state with room for so many combinations more, or twice as many as there are."""
    used = int(state.counters[LEADER_USED])
    capacity = 1 << (max(2 * used, used + more) - 1).bit_length()
    keys, table = start_slots(capacity)
    tiered(_copy_slots, __name__)(state.keys[:used], keys, table, size=used)
    counts = np.zeros((3, capacity), np.int64)
    for new, old in zip(counts, (state.pulls, state.clicks, state.led), strict=True):
        new[:used] = old[:used]
    means = np.full(capacity, _ABSENT)
    means[:used] = counts[1, :used] / np.maximum(counts[0, :used], 1)
    means[state.counters[LEADER_CHAMPION]] = _ABSENT
    if used == 0:
        means[-1] = _NO_OUTCOME
    best, ties = start_tournament(means)
    named = {"pulls": counts[0], "clicks": counts[1], "led": counts[2], "best": best, "ties": ties}
    return state._replace(**named, keys=keys, table=table)


def _copy_slots(numbers: Any, keys: Any, table: Any) -> None:
    for slot in range(len(numbers)):
        give_slot(keys, table, numbers[slot], slot)


def cross_scores(state: Any) -> Floats:
    """Return the score of the champion and of its cross, for those who watch; others have none."""
    champion, result = int(state.counters[LEADER_CHAMPION]), np.full(len(state.pulls), np.nan)
    if len(state.keys) == 0 and state.led[champion] > 0:
        for combination in (champion, *state.reach[: reached(state, champion)]):
            result[combination] = score(state, champion, combination, -np.inf, None)
    return result


def leader_of(state: Any) -> int:
    """Return the combination that led last, -1 before the first outcome."""
    champion = int(state.counters[LEADER_CHAMPION])
    return champion if state.pulls[champion] > 0 else -1


@view.register(LeaderState)
def _view(state: LeaderState) -> View | None:
    none = np.full(len(state.pulls), np.nan)
    return combination_view(
        state, none, none, "", leader=leader_of(state), score=cross_scores(state), scored_by="score on the cross"
    )


def optimistic_view(state: Any) -> View | None:
    """Return the view of a policy whose scores are upper bounds of means."""
    meaning = "mean and index: the largest index on the leader's cross is shown next"
    none = np.full(len(state.pulls), np.nan)
    return combination_view(state, none, cross_scores(state), meaning, leader=leader_of(state))


def leading_posterior_view(state: Any) -> View | None:
    """Return the view of a Thompson sampler with a leader."""
    return posterior_view(state, leader=leader_of(state))
