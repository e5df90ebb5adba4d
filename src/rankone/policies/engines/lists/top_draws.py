"""The K largest of L draws from Betas, without drawing them all: Thompson sampling for lists.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1), and the K largest draws are shown. The law is
exactly that (up to rounding); only draws that can be among the K largest are made.

* A *bar* x is chosen such that some more than K draws exceed it. For every item p = P(draw > x) is kept, and when the
  item is looked at it changes by a recurrence, not by another integral (`numerics.betas.beta`).
* *Hot* items (p >= 0.25) draw in full.
* Of the *cold* ones, nobody draws who stays below the bar. Lay shares -log(1 - p) of all cold items on a line and let
  points fall on it, one a unit on average (a Poisson process): an item exceeds the bar if a point falls on its share,
  which happens with probability p, independently of the others. From a point we step to the end of its owner's share
  and wait for the next: a few steps in a tree of sums. Who exceeds the bar draws from the part of its Beta above it.
* If fewer than K exceed the bar (one list in a hundred), the others draw too, from the part below it.
* When the mean number of draws above the bar comes too close to K, or gets too large, the next list draws in full and a
  new bar is chosen among its draws.

The state is `TopDrawsState`; `decide` and `learn` come with it.
"""

import math
from typing import Annotated, Any, NamedTuple

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import Belief, believe, decide, learn, relearn
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.betas.beta import after_look, draw_above, draw_beta, tail
from rankone.numerics.states import start_state
from rankone.numerics.structures.trees import owner, set_share, start_sums, sum_up
from rankone.policies.engines.lists.layout import beta_belief, looked_at

# Columns of `TopDrawsState.chances`; fields of `bar` and of `counters`.
ABOVE, HEIGHT = range(2)
BAR_X, BAR_MEAN, BAR_VARIANCE = range(3)
DRAWS_UNTIL, DRAWS_ASKED, DRAWS_N_HOT, DRAWS_CHOSEN_AT = range(4)
_HOT = 0.25  # not more: see `draw_above`
_NOT_HOT = -1
_SAFE, _LATEST, _WIDEST = 2.6, 2.0, 6.0  # standard deviations between K and the mean number of draws above the bar
_PATIENCE = 32  # lists between two bars, where nothing but speed asks for another
_LONGEST = 1 << 16  # lists until sums are made afresh


class TopDrawsState(NamedTuple):
    """Counts of every item, and what is known of the bar."""

    pulls: Annotated[Ints, "L"]  # looks
    clicks: Annotated[Ints, "L"]
    chances: Annotated[Floats, "L, 2"]  # P(draw > bar), and what its recurrence needs
    shares: Annotated[Floats, "S"]  # tree of sums over the items: -log(1 - p) of those that are cold
    hot: Annotated[Ints, "2, L"]  # the hot items; and the place of each among them, -1 for a cold one
    bar: Annotated[Floats, "3"]  # the bar; mean and variance of the number of draws above it
    counters: Annotated[Ints, "4"]  # how far lists are read; lists so far; hot items; when the bar was chosen
    met: Annotated[Ints, "L"]  # list at which the item last exceeded the bar
    top: Annotated[Ints, "T"]  # scratch space: items with the largest draws, the largest first; T is K and some more
    draws: Annotated[Floats, "T"]  # scratch space: their draws
    positions: Annotated[Ints, "K"]  # the position of the best item, of the second best, ...


def start_draws(n_items: int, positions: Ints, until: int) -> TopDrawsState:
    """Return the state before the first list."""
    room = min(n_items, 3 * len(positions) + 24)
    shares = start_sums(n_items)
    return start_state(
        TopDrawsState,
        L=n_items,
        K=len(positions),
        T=room,
        S=len(shares),
        shares=shares,
        hot=_NOT_HOT,
        counters=[until, 0, 0, -1],
        met=-1,
        positions=positions,
    )


@noalloc
def _note(state: Any, item: int, draw: float, count: int, room: int) -> int:
    """Put a draw among the `room` largest; return how many of them there are now."""
    top, draws = state.top, state.draws
    if count == room:
        if draw <= draws[room - 1]:
            return count
        count -= 1
    position = count
    while position > 0 and draws[position - 1] < draw:
        top[position], draws[position] = top[position - 1], draws[position - 1]
        position -= 1
    top[position], draws[position] = item, draw
    return count + 1


@noalloc
def _set_chance(state: Any, item: int, above: float, height: float) -> None:
    """Note an item's chance to exceed the bar, and whether that makes it hot or cold; the caller sums shares."""
    bar, hot, counters = state.bar, state.hot, state.counters
    before = state.chances[item, ABOVE]
    bar[BAR_MEAN] += above - before
    bar[BAR_VARIANCE] += above * (1.0 - above) - before * (1.0 - before)
    state.chances[item, ABOVE], state.chances[item, HEIGHT] = above, height
    position = hot[1, item]
    if above >= _HOT and position == _NOT_HOT:
        hot[0, counters[DRAWS_N_HOT]], hot[1, item] = item, counters[DRAWS_N_HOT]
        counters[DRAWS_N_HOT] += 1
    elif above < _HOT and position != _NOT_HOT:
        counters[DRAWS_N_HOT] -= 1
        last = hot[0, counters[DRAWS_N_HOT]]
        hot[0, position], hot[1, last] = last, position
        hot[1, item] = _NOT_HOT


@noalloc
def _share(state: Any, item: int) -> float:
    return -math.log1p(-state.chances[item, ABOVE]) if state.hot[1, item] == _NOT_HOT else 0.0


@noalloc
def _set_bar(state: Any, x: float) -> None:
    """Move the bar: every item's chance is computed afresh."""
    bar, leaves = state.bar, len(state.shares) >> 1
    for item in range(len(state.pulls)):
        above, height = tail(state.pulls[item], state.clicks[item], x)
        _set_chance(state, item, above, height)
        state.shares[leaves + item] = _share(state, item)
    sum_up(state.shares)
    bar[BAR_X], bar[BAR_MEAN], bar[BAR_VARIANCE] = x, 0.0, 0.0
    for item in range(len(state.pulls)):
        above = state.chances[item, ABOVE]
        bar[BAR_MEAN] += above
        bar[BAR_VARIANCE] += above * (1.0 - above)


@noalloc
def _reaches(state: Any, n_positions: int, deviations: float) -> bool:
    """Tell whether the mean number of draws above the bar is so many standard deviations above K."""
    return state.bar[BAR_MEAN] - deviations * math.sqrt(max(state.bar[BAR_VARIANCE], 0.0)) >= n_positions


@noalloc
def _draw_all(state: Any, n_positions: int, rng: Any) -> None:
    """Let every item draw, and choose the next bar among the draws."""
    count, room = 0, len(state.top)
    for item in range(len(state.pulls)):
        count = _note(state, item, draw_beta(state.pulls[item], state.clicks[item], rng), count, room)
    position = n_positions + 6
    while position < room:
        _set_bar(state, state.draws[position])
        if _reaches(state, n_positions, _SAFE):
            break
        position += 2 + position // 4
    if position >= room:  # few items more than positions: all of them draw, always
        _set_bar(state, 0.0 if room == len(state.pulls) else state.draws[room - 1])
    state.counters[DRAWS_CHOSEN_AT] = state.counters[DRAWS_ASKED]


@noalloc
def _draw_some(state: Any, n_positions: int, rng: Any) -> None:
    """Let those draw who can be among the K largest."""
    pulls, clicks, asked, x = state.pulls, state.clicks, state.counters[DRAWS_ASKED], state.bar[BAR_X]
    count = exceed = 0
    for position in range(state.counters[DRAWS_N_HOT]):
        item = state.hot[0, position]
        draw = draw_beta(pulls[item], clicks[item], rng)
        exceed += 1 if draw > x else 0
        count = _note(state, item, draw, count, n_positions)
    total, point = state.shares[1], -math.log1p(-rng.random())
    while point < total:
        item, end = owner(state.shares, point)
        exceed += 1
        state.met[item] = asked
        count = _note(state, item, draw_above(pulls[item], clicks[item], x, rng), count, n_positions)
        point = end - math.log1p(-rng.random())
    if exceed < n_positions:
        for item in range(len(pulls)):
            if state.hot[1, item] == _NOT_HOT and state.met[item] != asked:
                draw = draw_beta(pulls[item], clicks[item], rng)
                while draw > x:
                    draw = draw_beta(pulls[item], clicks[item], rng)
                count = _note(state, item, draw, count, n_positions)


@noalloc
def find_largest_draws(state: Any, n_positions: int, rng: Any) -> None:
    """Fill `top` with the K items of the largest draws, the largest first."""
    counters, bar = state.counters, state.bar
    age = counters[DRAWS_ASKED] - counters[DRAWS_CHOSEN_AT]
    wide = bar[BAR_MEAN] - _WIDEST * math.sqrt(bar[BAR_VARIANCE] + 1.0) > n_positions + 4
    if (
        counters[DRAWS_CHOSEN_AT] < 0
        or not _reaches(state, n_positions, _LATEST)
        or (wide and age > _PATIENCE and bar[BAR_X] > 0.0)
        or age > _LONGEST
    ):
        _draw_all(state, n_positions, rng)
    else:
        _draw_some(state, n_positions, rng)
    counters[DRAWS_ASKED] += 1


@decide.register(TopDrawsState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    find_largest_draws(state, len(shown), rng)
    for position in range(len(shown)):
        shown[state.positions[position]] = state.top[position]
    return 0


@noalloc
def count_draw(state: Any, item: int, clicked: int) -> None:
    """Count a look at an item."""
    pulls, clicks = state.pulls[item], state.clicks[item]
    state.pulls[item] += 1
    state.clicks[item] += clicked
    chances, shares = state.chances, state.shares
    cold_before = state.hot[1, item] == _NOT_HOT
    above, height = after_look(pulls, clicks, clicked, state.bar[BAR_X], chances[item, ABOVE], chances[item, HEIGHT])
    _set_chance(state, item, above, height)
    if cold_before or state.hot[1, item] == _NOT_HOT:
        set_share(shares, item, _share(state, item))


@learn.register(TopDrawsState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(looked_at(outcome, state.counters[DRAWS_UNTIL])):
        if shown[position] >= 0:
            count_draw(state, shown[position], outcome[position])


@believe.register(TopDrawsState)
def _believe(state: TopDrawsState, rng: Any) -> Belief:
    return beta_belief(state.pulls, state.clicks, state.positions)


@relearn.register(TopDrawsState)
def _relearn(state: Any, shown: Any, pulls: int, clicks: int) -> None:
    for item in shown:
        if item >= 0:
            state.pulls[item] += pulls
            state.clicks[item] += clicks
    state.counters[DRAWS_CHOSEN_AT] = -1  # the bar has to be chosen anew
