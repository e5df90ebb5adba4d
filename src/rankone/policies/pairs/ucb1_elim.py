"""UCB1Elim on the K * L pairs: Auer, Ortner, "UCB Revisited" (2010), section 3, for a known horizon n.

In round m = 0, 1, ..., floor(log2(n / e) / 2), with D = 2^-m, every remaining pair is chosen until it has
n_m = ceil(2 log(n D^2) / D^2) outcomes; then every pair whose ``mean + r`` is below the best ``mean - r`` leaves,
r = sqrt(log(n D^2) / (2 n_m)). A single pair left is played for good; several left after the last round are played in
turn for good. Pairs are played in an order shuffled once at the start; ties never eliminate (the test is strict).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import function, noalloc
from rankone.kernels.policy import FILLER, Race, View, chances, choose, race, recall, settled, syncs, update, view, void
from rankone.policies.base import Policy, check_sizes, needed_horizon
from rankone.policies.engines.combinations import add_chance, clear_chances

Ints = npt.NDArray[np.int64]

# Fields of `UCB1ElimState.clock`.
ROUNDS_NOW, ROUNDS_LAST, ROUNDS_ASKED, ROUNDS_WANTED, ROUNDS_POSITION, ROUNDS_OPEN = range(6)
ROUNDS_LEFT, ROUNDS_N_COLS, ROUNDS_HORIZON, ROUNDS_SHOWN, ROUNDS_HOW = range(6, 11)
SURE, LEADING = -1, -2  # how the last decision came about; from 0 on: the pairs from this place on came in random order


class UCB1ElimState(NamedTuple):
    """Counts of every pair and where in the round we are."""

    pulls: Ints  # (K * L,) outcomes
    clicks: Ints  # (K * L,) clicks among them
    remaining: Ints  # (K * L,) the remaining pairs, first clock[ROUNDS_LEFT] entries
    clock: Ints  # (11,)
    sizes: Ints  # (2,) rows and columns


@dataclass(frozen=True)
class UCB1Elim(Policy):
    """Eliminate pairs by Hoeffding bounds, in rounds, every pair for itself.

    Args:
        horizon: number of decisions n the rounds are laid out for; a study fills it in.

    >>> UCB1Elim().label
    'ucb1-elim'
    """

    name: ClassVar[str] = "ucb1-elim"
    suits: ClassVar[str] = "a baseline to compare with"
    horizon: int | None = None

    def start(self, n_rows: int, n_cols: int) -> UCB1ElimState:
        """Return the state before round 0."""
        check_sizes(n_rows, n_cols)
        horizon = needed_horizon(self, self.horizon)
        n_pairs = n_rows * n_cols
        clock = np.zeros(11, np.int64)
        clock[ROUNDS_NOW] = -1  # the first choose shuffles and opens round 0
        clock[ROUNDS_LAST] = max(0, math.floor(0.5 * math.log2(max(1.0, horizon / math.e))))
        clock[ROUNDS_LEFT], clock[ROUNDS_N_COLS], clock[ROUNDS_HORIZON] = n_pairs, n_cols, horizon
        pulls, clicks = np.zeros((2, n_pairs), np.int64)
        return UCB1ElimState(pulls, clicks, np.arange(n_pairs), clock, np.array([n_rows, n_cols]))


@function
def pair_bounds(state: UCB1ElimState, pair: int) -> tuple[float, float]:
    """Lower and upper bound of a pair's mean; void outcomes may leave a pair without any, and then nothing is known."""
    pulls, clock = state.pulls[pair], state.clock
    if pulls == 0:
        return -math.inf, math.inf
    round_now = clock[ROUNDS_NOW] if clock[ROUNDS_NOW] < clock[ROUNDS_LAST] else clock[ROUNDS_LAST]
    radius = math.sqrt(math.log(clock[ROUNDS_HORIZON] * 4.0**-round_now) / (2.0 * pulls))
    return state.clicks[pair] / pulls - radius, state.clicks[pair] / pulls + radius


@noalloc
def close_round(state: UCB1ElimState) -> None:
    """Eliminate pairs by the bounds of this round (step 2)."""
    remaining, clock = state.remaining, state.clock
    best_lower = -math.inf
    for place in range(clock[ROUNDS_LEFT]):
        best_lower = max(best_lower, pair_bounds(state, remaining[place])[0])
    kept = 0
    for place in range(clock[ROUNDS_LEFT]):
        pair = remaining[place]
        if pair_bounds(state, pair)[1] >= best_lower:
            remaining[kept] = pair
            kept += 1
    clock[ROUNDS_LEFT] = kept


@noalloc
def open_round(state: UCB1ElimState) -> None:
    """Set how often every remaining pair is still to be chosen (step 1)."""
    clock = state.clock
    clock[ROUNDS_NOW] += 1
    log_term = math.log(clock[ROUNDS_HORIZON] * 4.0 ** -clock[ROUNDS_NOW])
    needed = math.ceil(2.0 * log_term * 4.0 ** clock[ROUNDS_NOW])
    needed = needed if needed > 1 else 1
    clock[ROUNDS_WANTED] = needed - clock[ROUNDS_ASKED] if needed > clock[ROUNDS_ASKED] else 0
    clock[ROUNDS_ASKED] += clock[ROUNDS_WANTED]


@noalloc
def leading_pair(state: UCB1ElimState, rng: Any) -> int:
    """Return the remaining pair with the best empirical mean, ties at random."""
    best, ties, found = -1.0, 0, 0
    for place in range(state.clock[ROUNDS_LEFT]):
        pair = state.remaining[place]
        mean = state.clicks[pair] / (state.pulls[pair] + (state.pulls[pair] == 0))
        ties = 1 if mean > best else ties + (mean == best)
        if mean >= best and rng.random() * ties < 1.0:
            best, found = mean, pair
    return found


@choose.register(UCB1ElimState)
def _choose(state: UCB1ElimState, rng: Any) -> tuple[int, int, int]:
    remaining, clock = state.remaining, state.clock
    if clock[ROUNDS_NOW] < 0:
        for place in range(1, len(remaining)):
            other = int(rng.random() * (place + 1))
            remaining[place], remaining[other] = remaining[other], remaining[place]
        open_round(state)
    elif (
        clock[ROUNDS_WANTED] == 0
        and clock[ROUNDS_OPEN] == 0
        and clock[ROUNDS_LEFT] > 1
        and clock[ROUNDS_NOW] <= clock[ROUNDS_LAST]
    ):
        close_round(state)
        if clock[ROUNDS_NOW] < clock[ROUNDS_LAST]:
            open_round(state)
        else:
            clock[ROUNDS_NOW] += 1
    tag, how = FILLER, SURE
    if clock[ROUNDS_LEFT] == 1:
        pair = remaining[0]
    elif clock[ROUNDS_WANTED] == 0 and clock[ROUNDS_NOW] <= clock[ROUNDS_LAST]:  # outcomes of it are still missing
        pair, how = leading_pair(state, rng), LEADING
    else:
        pair = remaining[clock[ROUNDS_POSITION]]
        if clock[ROUNDS_NOW] == 0 and clock[ROUNDS_WANTED] == clock[ROUNDS_ASKED]:  # nobody has seen the order yet
            how = clock[ROUNDS_POSITION]
        clock[ROUNDS_POSITION] += 1
        if clock[ROUNDS_WANTED] > 0:
            tag = clock[ROUNDS_NOW]
            clock[ROUNDS_OPEN] += 1
        if clock[ROUNDS_POSITION] == clock[ROUNDS_LEFT]:
            clock[ROUNDS_POSITION] = 0
            clock[ROUNDS_WANTED] -= clock[ROUNDS_WANTED] > 0
    clock[ROUNDS_SHOWN], clock[ROUNDS_HOW] = pair, how
    return pair // clock[ROUNDS_N_COLS], pair % clock[ROUNDS_N_COLS], tag


@chances.register(UCB1ElimState)
def _chances(state: UCB1ElimState, shown: Any, found: Any) -> bool:
    clear_chances(found)
    clock, how, tied, best = state.clock, state.clock[ROUNDS_HOW], 0, -1.0
    if how == SURE:
        add_chance(state.sizes, shown, found, clock[ROUNDS_SHOWN], 1.0)
        return True
    for step in range(2):  # the first time they are counted
        for place in range(max(how, 0), clock[ROUNDS_LEFT]):
            pair = state.remaining[place]
            mean = 0.0 if how >= 0 else state.clicks[pair] / (state.pulls[pair] + (state.pulls[pair] == 0))
            if step == 0:
                tied = 1 if mean > best else tied + (mean == best)
                best = max(best, mean)
            elif mean == best:
                add_chance(state.sizes, shown, found, pair, 1.0 / tied)
    return True


@update.register(UCB1ElimState)
def _update(state: UCB1ElimState, row: int, col: int, tag: int, reward: int) -> None:
    if tag >= 0:
        pair = row * state.clock[ROUNDS_N_COLS] + col
        state.pulls[pair] += 1
        state.clicks[pair] += reward
        state.clock[ROUNDS_OPEN] -= 1


@void.register(UCB1ElimState)
def _void(state: UCB1ElimState, row: int, col: int, tag: int) -> None:
    if tag >= 0:
        state.clock[ROUNDS_OPEN] -= 1


@settled.register(UCB1ElimState)
def _settled(state: UCB1ElimState) -> bool:
    return state.clock[ROUNDS_LEFT] == 1


@recall.register(UCB1ElimState)
def _recall(state: UCB1ElimState, row: int, col: int, pulls: int, clicks: int) -> None:
    pair = row * state.clock[ROUNDS_N_COLS] + col
    state.pulls[pair] += pulls
    state.clicks[pair] += clicks


@syncs.register(UCB1ElimState)
def _syncs(state: UCB1ElimState) -> int:
    return max(0, int(state.clock[ROUNDS_NOW]))  # within a round no choice depends on an outcome


@race.register(UCB1ElimState)
def _race(state: UCB1ElimState) -> Race:
    n_cols, left = state.clock[ROUNDS_N_COLS], state.remaining[: state.clock[ROUNDS_LEFT]]
    rows, cols = np.zeros(len(state.pulls) // n_cols, bool), np.zeros(n_cols, bool)
    rows[left // n_cols], cols[left % n_cols] = True, True
    return Race(max(0, int(state.clock[ROUNDS_NOW])), (rows, cols))


@view.register(UCB1ElimState)
def _view(state: UCB1ElimState) -> View:
    low, high = np.array([pair_bounds(state, pair) for pair in range(len(state.pulls))]).T
    left = np.isin(np.arange(len(state.pulls)), state.remaining[: state.clock[ROUNDS_LEFT]])
    return View("pairs", state.pulls.copy(), state.clicks.copy(), low, high, left, "confidence interval")
