"""The sweeping skeleton shared by Rank1Elim and Rank1ElimKL (paper, Algorithm 1; Katariya et al. 2017, Algorithm 1).

A stage consists of equal sweeps. A sweep draws one column and plays every remaining row with it, then draws one row
and plays every remaining column with it. At the end of a stage, rows and columns whose upper bound is not above the
best lower bound are eliminated: the defeat maps h point them at the winner, so that a later draw of an eliminated
partner plays the winner instead. The two policies differ only in the lengths of the stages and in `bounds`.

The papers have two factors. With more, a sweep does the same for each factor in turn: it draws one partner from every
other factor, through their defeat maps, and plays every remaining level with these. Levels of a factor are compared on
equal terms as before, but at the rate of average partners, which shrinks with every factor
(`docs/more-than-two-factors.md`).

Where the pseudo-code is silent:

* a stage closes at the first `decide` after all its outcomes are in (or void); until then `decide` plays the leading
  levels, tagged as filler;
* when one level of each factor remains the choice is settled; at the horizon nothing special happens: sweeps go on;
* ties for the best lower bound are broken at random; a void decision leaves its level with one pull less.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.dispatch import dispatched
from rankone.kernels.policy import (
    FILLER,
    Race,
    View,
    adopt,
    decide,
    defeats,
    learn,
    race,
    relearn,
    settled,
    syncs,
    view,
    withdraw,
)
from rankone.numerics.arrays import Floats, Ints, starts_of

State = TypeVar("State")

# Fields of `SweepState.counters`.
SWEEP_STAGE, SWEEP_TO_GO, SWEEP_FACTOR, SWEEP_POSITION, SWEEP_OPEN = range(5)
# Fields of `SweepState.constants`.
SWEEP_LOG_HORIZON, SWEEP_FIRST_LENGTH, SWEEP_CONFIDENCE = range(3)


class SweepState(NamedTuple):
    """State of a sweeping policy. Levels are numbered factor by factor: rows 0 to K - 1, then columns."""

    defeated_by: Ints  # (levels,) the maps h^U and h^V: where a draw of this level leads
    remaining: Ints  # (levels,) remaining levels of a factor, from the place of its first on
    pulls: Ints  # (levels,) outcomes of each level in the sweeps of its factor
    clicks: Ints  # (levels,) clicks among them
    counters: Ints  # (5,) where in the stage we are
    constants: Floats  # (3,)
    sizes: Ints  # (D,) levels of each factor
    first: Ints  # (D + 1,) the first level of each factor; all levels
    left: Ints  # (D,) how many levels of each factor remain
    shown_last: Ints  # (D,) what the last decision shows, as levels; partners of the sweep


def start_levels(sizes: Ints) -> dict[str, Ints]:
    """Return the fields of a state before anything happened: every level remains."""
    first = starts_of(sizes)
    pulls, clicks = np.zeros((2, first[-1]), np.int64)
    return {
        "defeated_by": np.arange(first[-1]),
        "remaining": np.arange(first[-1]),
        "pulls": pulls,
        "clicks": clicks,
        "sizes": sizes,
        "first": first,
        "left": sizes.copy(),
        "shown_last": first[:-1].copy(),
    }


def start_sweeps(
    state_class: Callable[..., State], sizes: Ints, horizon: int, first_length: float, confidence: float
) -> State:
    """Return the state before stage 0; stage l ends at ``ceil(first_length * 4^l * log(horizon))`` sweeps in all."""
    log_horizon = math.log(horizon)
    counters = np.zeros(5, np.int64)
    counters[SWEEP_TO_GO] = max(1, math.ceil(first_length * log_horizon))  # horizon 1: a stage still has a sweep
    return state_class(
        counters=counters, constants=np.array([log_horizon, first_length, confidence]), **start_levels(sizes)
    )


@dispatched
def bounds(state: Any, level: int) -> tuple[float, float]:
    """Lower and upper confidence bound of a level's mean; each sweeping policy registers its own."""
    raise NotImplementedError


@noalloc
def one_combination_left(state: Any) -> bool:
    """Tell whether one level of each factor remains."""
    more = 0
    for factor in range(len(state.left)):
        more += state.left[factor] - 1
    return more == 0


@noalloc
def eliminate(state: Any, rng: Any) -> None:
    """Eliminate levels by their bounds, factor by factor (lines 23-48: rows, then columns)."""
    remaining, defeated_by = state.remaining, state.defeated_by
    for factor in range(len(state.sizes)):
        first = state.first[factor]
        last = first + state.left[factor]
        best, ties, winner = -math.inf, 0, 0
        for index in range(first, last):
            level = remaining[index]
            lower, _ = bounds(state, level)
            ties = 1 if lower > best else ties + (lower == best)
            if lower >= best and rng.random() * ties < 1.0:
                best, winner = lower, level
        for level in range(first, state.first[factor + 1]):
            _, upper = bounds(state, defeated_by[level])
            if upper <= best:
                defeated_by[level] = winner
        state.left[factor] = 0
        for index in range(first, last):
            level = remaining[index]
            if defeated_by[level] == level:
                remaining[first + state.left[factor]] = level
                state.left[factor] += 1


@noalloc
def close_stage(state: SweepState, rng: Any) -> None:
    """Eliminate and set up the next stage."""
    counters = state.counters
    eliminate(state, rng)
    # Line 7: n_l = ceil(first_length 4^l log n) sweeps by the end of stage l (at least one a stage, even for n = 1).
    first_length = state.constants[SWEEP_FIRST_LENGTH] * state.constants[SWEEP_LOG_HORIZON]
    sweeps_by_now = math.ceil(first_length * 4.0 ** counters[SWEEP_STAGE])
    counters[SWEEP_STAGE] += 1
    counters[SWEEP_TO_GO] = math.ceil(first_length * 4.0 ** counters[SWEEP_STAGE]) - sweeps_by_now
    if counters[SWEEP_TO_GO] == 0:
        counters[SWEEP_TO_GO] = 1


@noalloc
def find_leading(state: Any, rng: Any) -> None:
    """Fill in, as what is shown, the remaining level of each factor with the best empirical mean, ties at random."""
    for factor in range(len(state.sizes)):
        first = state.first[factor]
        best, ties = -1.0, 0
        for index in range(first, first + state.left[factor]):
            level = state.remaining[index]
            mean = state.clicks[level] / (state.pulls[level] + (state.pulls[level] == 0))
            ties = 1 if mean > best else ties + (mean == best)
            if mean >= best and rng.random() * ties < 1.0:
                best, state.shown_last[factor] = mean, level


@inlined
def show(state: Any, shown: Any) -> None:
    """Fill in a decision."""
    if len(state.sizes) == 2:  # the loop below costs more than a pair
        shown[0], shown[1] = state.shown_last[0], state.shown_last[1] - state.first[1]
        return
    for factor in range(len(state.sizes)):
        shown[factor] = state.shown_last[factor] - state.first[factor]


@decide.register(SweepState)
def _decide(state: SweepState, context: Any, rng: Any, shown: Any) -> int:
    counters, levels = state.counters, state.shown_last
    if counters[SWEEP_TO_GO] == 0 and counters[SWEEP_OPEN] == 0:
        close_stage(state, rng)
    index = counters[SWEEP_POSITION]
    if index == 0 and one_combination_left(state):  # levels leave between sweeps only
        for factor in range(len(state.sizes)):
            levels[factor] = state.remaining[state.first[factor]]
        show(state, shown)
        return FILLER
    if counters[SWEEP_TO_GO] == 0:  # outcomes of this stage are still missing
        find_leading(state, rng)
        show(state, shown)
        return FILLER
    factor, n_factors = counters[SWEEP_FACTOR], len(state.sizes)
    if index == 0:  # lines 12-13 and 17-18: the same partners for the whole sweep
        for other in range(n_factors):
            if other != factor:
                drawn = state.first[other] + int(rng.random() * state.sizes[other])
                levels[other] = state.defeated_by[drawn]
    levels[factor] = state.remaining[state.first[factor] + index]
    counters[SWEEP_OPEN] += 1
    show(state, shown)
    tag = n_factors * counters[SWEEP_STAGE] + factor
    index += 1
    if index == state.left[factor]:
        index = 0
        factor += 1
        if factor == n_factors:
            factor = 0
            counters[SWEEP_TO_GO] -= 1
        counters[SWEEP_FACTOR] = factor
    counters[SWEEP_POSITION] = index
    return tag


@learn.register(SweepState)
def _learn(state: SweepState, shown: Any, tag: int, outcome: Any) -> None:
    if tag >= 0:
        factor = tag & 1 if len(state.sizes) == 2 else tag % len(state.sizes)  # a division costs as much as the rest
        level = state.first[factor] + shown[factor]
        state.pulls[level] += 1
        state.clicks[level] += outcome[0]
        state.counters[SWEEP_OPEN] -= 1


@withdraw.register(SweepState)
def _withdraw(state: SweepState, shown: Any, tag: int) -> None:
    if tag >= 0:
        state.counters[SWEEP_OPEN] -= 1


@settled.register(SweepState)
def _settled(state: SweepState) -> bool:
    return state.counters[SWEEP_POSITION] == 0 and one_combination_left(state)


@relearn.register(SweepState)
def _relearn(state: SweepState, shown: Any, pulls: int, clicks: int) -> None:
    pass  # sums are comparable only between levels that met the same partners: earlier outcomes cannot join them


@defeats.register(SweepState)
def _defeats(state: SweepState, n_levels: int) -> Ints:
    return state.defeated_by.copy()


@adopt.register(SweepState)
def _adopt(state: SweepState, defeated_by: Ints) -> None:
    state.defeated_by[:] = defeated_by
    for factor, first in enumerate(state.first[:-1]):
        levels = np.arange(first, state.first[factor + 1])
        left = levels[defeated_by[levels] == levels]
        state.remaining[first : first + len(left)] = left
        state.left[factor] = len(left)


@syncs.register(SweepState)
def _syncs(state: SweepState) -> int:
    return int(state.counters[SWEEP_STAGE])  # within a stage no choice depends on an outcome


@race.register(SweepState)
def _race(state: SweepState) -> Race:
    left = state.defeated_by == np.arange(len(state.defeated_by))
    return Race(int(state.counters[SWEEP_STAGE]), tuple(np.split(left, state.first[1:-1])))


@view.register(SweepState)
def _view(state: SweepState) -> View:
    levels = np.arange(len(state.pulls))
    low, high = np.array([bounds(state, level) for level in range(len(levels))]).T
    left = state.defeated_by == levels
    return View("levels", state.pulls.copy(), state.clicks.copy(), low, high, left, "confidence interval")
