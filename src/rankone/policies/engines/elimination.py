"""The sweeping skeleton shared by Rank1Elim and Rank1ElimKL (paper, Algorithm 1; Katariya et al. 2017, Algorithm 1).

A stage consists of equal sweeps. A sweep draws one column and plays every remaining row with it, then draws one row
and plays every remaining column with it. At the end of a stage, rows and columns whose upper bound is not above the
best lower bound are eliminated: the defeat maps h point them at the winner, so that a later draw of an eliminated
partner plays the winner instead. The two policies differ only in the lengths of the stages and in `bounds`.

Where the pseudo-code is silent:

* a stage closes at the first `choose` after all its outcomes are in (or void); until then `choose` plays the leading
  pair, tagged as filler;
* when one row and one column remain the choice is settled; at the horizon nothing special happens (sweeping goes on);
* ties for the best lower bound are broken at random; a void decision leaves its row or column with one pull less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import (
    FILLER,
    Race,
    View,
    adopt,
    choose,
    defeats,
    race,
    recall,
    settled,
    syncs,
    update,
    view,
    void,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
State = TypeVar("State")

ROWS, COLS = 0, 1
# Fields of `SweepState.clock`.
SWEEP_STAGE, SWEEP_TO_GO, SWEEP_SIDE, SWEEP_POSITION, SWEEP_PARTNER, SWEEP_OPEN = range(6)
SWEEP_N_ROWS, SWEEP_ROWS_LEFT, SWEEP_COLS_LEFT = range(6, 9)
SWEEP_HOW, SWEEP_LAST_ROW, SWEEP_LAST_COL = range(9, 12)
# How the last decision came about: nothing was drawn; the leading row and column, ties at random; a column for this row
# was drawn; a row for this column was drawn.
SURE, LEADING, ANY_COL, ANY_ROW = range(4)
# Fields of `SweepState.level`.
SWEEP_LOG_HORIZON, SWEEP_FIRST_LENGTH, SWEEP_CONFIDENCE = range(3)


class SweepState(NamedTuple):
    """State of a sweeping policy. A *level* is a row (levels 0 to K - 1) or a column (levels K to K + L - 1)."""

    defeated_by: Ints  # (K + L,) the maps h^U and h^V: where a draw of this level leads
    remaining: Ints  # (K + L,) remaining rows from place 0, remaining columns from place K
    pulls: Ints  # (K + L,) outcomes of each row in row sweeps, of each column in column sweeps
    clicks: Ints  # (K + L,) clicks among them
    clock: Ints  # (12,) where in the stage we are, and the last decision
    level: Floats  # (3,) constants of the policy


def start_clock(n_rows: int, n_cols: int) -> Ints:
    """Return the clock before anything happened: every row and every column remains."""
    clock = np.zeros(12, np.int64)
    clock[SWEEP_N_ROWS], clock[SWEEP_ROWS_LEFT], clock[SWEEP_COLS_LEFT] = n_rows, n_rows, n_cols
    return clock


def start_sweeps(
    state_class: Callable[..., State], n_rows: int, n_cols: int, horizon: int, first_length: float, confidence: float
) -> State:
    """Return the state before stage 0; stage l ends at ``ceil(first_length * 4^l * log(horizon))`` sweeps in all."""
    log_horizon = math.log(horizon)
    levels = n_rows + n_cols
    clock = start_clock(n_rows, n_cols)
    clock[SWEEP_TO_GO] = max(1, math.ceil(first_length * log_horizon))  # horizon 1: a stage still has a sweep
    return state_class(
        defeated_by=np.arange(levels),
        remaining=np.arange(levels),
        pulls=np.zeros(levels, np.int64),
        clicks=np.zeros(levels, np.int64),
        clock=clock,
        level=np.array([log_horizon, first_length, confidence]),
    )


@dispatched
def bounds(state: Any, level: int) -> tuple[float, float]:
    """Lower and upper confidence bound of a level's mean; each sweeping policy registers its own."""
    raise NotImplementedError


@noalloc
def one_pair_left(state: Any) -> bool:
    """Tell whether one row and one column remain."""
    return state.clock[SWEEP_ROWS_LEFT] + state.clock[SWEEP_COLS_LEFT] == 2


@noalloc
def eliminate(state: Any, rng: Any) -> None:
    """Eliminate rows, then columns, by their bounds (lines 23-48)."""
    clock, remaining, defeated_by = state.clock, state.remaining, state.defeated_by
    for side in range(2):
        first = clock[SWEEP_N_ROWS] * side
        last = first + clock[SWEEP_ROWS_LEFT + side]
        best, ties, winner = -math.inf, 0, 0
        for place in range(first, last):
            level = remaining[place]
            lower, _ = bounds(state, level)
            ties = 1 if lower > best else ties + (lower == best)
            if lower >= best and rng.random() * ties < 1.0:
                best, winner = lower, level
        for level in range(first, clock[SWEEP_N_ROWS] if side == ROWS else len(defeated_by)):
            _, upper = bounds(state, defeated_by[level])
            if upper <= best:
                defeated_by[level] = winner
        clock[SWEEP_ROWS_LEFT + side] = 0
        for place in range(first, last):
            level = remaining[place]
            if defeated_by[level] == level:
                remaining[first + clock[SWEEP_ROWS_LEFT + side]] = level
                clock[SWEEP_ROWS_LEFT + side] += 1


@noalloc
def close_stage(state: SweepState, rng: Any) -> None:
    """Eliminate and set up the next stage."""
    clock = state.clock
    eliminate(state, rng)
    # Line 7: n_l = ceil(first_length 4^l log n) sweeps by the end of stage l (at least one a stage, even for n = 1).
    first_length = state.level[SWEEP_FIRST_LENGTH] * state.level[SWEEP_LOG_HORIZON]
    sweeps_by_now = math.ceil(first_length * 4.0 ** clock[SWEEP_STAGE])
    clock[SWEEP_STAGE] += 1
    clock[SWEEP_TO_GO] = math.ceil(first_length * 4.0 ** clock[SWEEP_STAGE]) - sweeps_by_now
    if clock[SWEEP_TO_GO] == 0:
        clock[SWEEP_TO_GO] = 1


@noalloc
def leading_pair(state: Any, rng: Any) -> tuple[int, int]:
    """Return the remaining row and the remaining column with the best empirical means, ties at random."""
    clock = state.clock
    found_row = found = 0
    for side in range(2):
        found_row = found
        first = clock[SWEEP_N_ROWS] * side
        best, ties = -1.0, 0
        for place in range(first, first + clock[SWEEP_ROWS_LEFT + side]):
            level = state.remaining[place]
            mean = state.clicks[level] / (state.pulls[level] + (state.pulls[level] == 0))
            ties = 1 if mean > best else ties + (mean == best)
            if mean >= best and rng.random() * ties < 1.0:
                best, found = mean, level
    return found_row, found - clock[SWEEP_N_ROWS]


@inlined
def note(state: Any, how: int, row: int, col: int, tag: int) -> tuple[int, int, int]:
    """Note how a decision came about, for `chances`; return it."""
    clock = state.clock
    clock[SWEEP_HOW], clock[SWEEP_LAST_ROW], clock[SWEEP_LAST_COL] = how, row, col
    return row, col, tag


@inlined
def note_pair(state: Any, drawn: bool, side: int, level: int, partner: int, tag: int) -> tuple[int, int, int]:
    """Return the decision that plays a level of one side with a partner of the other, drawn for it or before."""
    n_rows = state.clock[SWEEP_N_ROWS]
    if side == ROWS:
        return note(state, ANY_COL if drawn else SURE, level, partner - n_rows, tag)
    return note(state, ANY_ROW if drawn else SURE, partner, level - n_rows, tag)


@choose.register(SweepState)
def _choose(state: SweepState, rng: Any) -> tuple[int, int, int]:
    clock, n_rows = state.clock, state.clock[SWEEP_N_ROWS]
    if clock[SWEEP_TO_GO] == 0 and clock[SWEEP_OPEN] == 0:
        close_stage(state, rng)
    if one_pair_left(state):
        return note(state, SURE, state.remaining[0], state.remaining[n_rows] - n_rows, FILLER)
    if clock[SWEEP_TO_GO] == 0:  # outcomes of this stage are still missing
        row, col = leading_pair(state, rng)
        return note(state, LEADING, row, col, FILLER)
    side, place = clock[SWEEP_SIDE], clock[SWEEP_POSITION]
    tag = 2 * clock[SWEEP_STAGE] + side
    if place == 0:  # lines 12-13 and 17-18: one partner for the whole sweep
        n_partners = len(state.pulls) - n_rows if side == ROWS else n_rows
        draw = int(rng.random() * n_partners) + (n_rows if side == ROWS else 0)
        clock[SWEEP_PARTNER] = state.defeated_by[draw]
    level = state.remaining[place if side == ROWS else n_rows + place]
    clock[SWEEP_OPEN] += 1
    clock[SWEEP_POSITION] += 1
    if clock[SWEEP_POSITION] == clock[SWEEP_ROWS_LEFT + side]:
        clock[SWEEP_POSITION] = 0
        clock[SWEEP_SIDE] = 1 - side
        clock[SWEEP_TO_GO] -= side
    return note_pair(state, place == 0, side, level, clock[SWEEP_PARTNER], tag)


@update.register(SweepState)
def _update(state: SweepState, row: int, col: int, tag: int, reward: int) -> None:
    if tag >= 0:
        level = row if tag % 2 == ROWS else state.clock[SWEEP_N_ROWS] + col
        state.pulls[level] += 1
        state.clicks[level] += reward
        state.clock[SWEEP_OPEN] -= 1


@void.register(SweepState)
def forget(state: Any, row: int, col: int, tag: int) -> None:
    """Close a decision without an outcome."""
    if tag >= 0:
        state.clock[SWEEP_OPEN] -= 1


@settled.register(SweepState)
def _settled(state: SweepState) -> bool:
    return one_pair_left(state)


@recall.register(SweepState)
def join_nothing(state: Any, row: int, col: int, pulls: int, clicks: int) -> None:
    """Take in nothing of what is known from before."""
    # sums are comparable only between levels that met the same partners: earlier outcomes cannot join them


@defeats.register(SweepState)
def _defeats(state: SweepState, n_levels: int) -> Ints:
    return state.defeated_by.copy()


@adopt.register(SweepState)
def _adopt(state: SweepState, defeated_by: Ints) -> None:
    clock = state.clock
    state.defeated_by[:] = defeated_by
    levels = np.arange(len(defeated_by))
    for side, span in ((ROWS, levels[: clock[SWEEP_N_ROWS]]), (COLS, levels[clock[SWEEP_N_ROWS] :])):
        left = span[defeated_by[span] == span]
        state.remaining[span[0] : span[0] + len(left)] = left
        clock[SWEEP_ROWS_LEFT + side] = len(left)


@syncs.register(SweepState)
def _syncs(state: SweepState) -> int:
    return int(state.clock[SWEEP_STAGE])  # within a stage no choice depends on an outcome


@race.register(SweepState)
def race_of_sweeps(state: Any) -> Race:
    """Return the stage and the levels that no other has defeated."""
    left, n_rows = state.defeated_by == np.arange(len(state.defeated_by)), state.clock[SWEEP_N_ROWS]
    return Race(int(state.clock[SWEEP_STAGE]), left[:n_rows], left[n_rows:])


@view.register(SweepState)
def view_of_levels(state: Any) -> View:
    """Return the bounds that the next elimination will compare."""
    levels = np.arange(len(state.pulls))
    low, high = np.array([bounds(state, level) for level in range(len(levels))]).T
    left = state.defeated_by == levels
    return View("levels", state.pulls.copy(), state.clicks.copy(), low, high, left, "confidence interval")
