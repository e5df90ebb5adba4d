"""Rank1ElimKL without a known horizon: the paper's Algorithm 1 with a confidence that grows and counts that are kept.

An elimination is as certain as its horizon asks for: its bounds use log n. When n is not known, play as if it were T,
and double T whenever T decisions are made. What was eliminated with the old T may not be certain enough for the new,
so the elimination is done again from the first stage, *on the outcomes kept*; only what is missing is played::

    T <- 32 (K + L)
    repeat                                                  a round: Algorithm 1 with confidence log T + c log log T
        all rows and columns remain; no stage has passed
        for stages l = 0, 1, 2, ... while more than one pair remains and T decisions are not reached
            if stage l was never opened: draw its partners, so that stages 0 to l have 16 * 2^l a side
            every remaining level that has not played stage l plays it, with exactly these partners
            eliminate by the bounds of Algorithm 1 on the sums of stages 0 to l
        play the pair that remains until T decisions are made; double T

Levels that play a stage later than others play it with the same partners, so their means stay comparable (section 3 of
the paper: all rows of a sweep share their column). No outcome is thrown away, and what was eliminated by mistake comes
back: with permanent elimination its regret would be linear. Stages double (Algorithm 1: quadruple) and have no log n in
their length, as there is no n. Void outcomes and fillers are treated as in `rankone.policies.engines.elimination`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.compiling.dispatch import with_fields
from rankone.kernels.policy import FILLER, adopt, decide, defeats, learn, settled, syncs
from rankone.policies.base import AtLeast0, Policy, check_sizes
from rankone.policies.engines.elimination import (
    DRAWN,
    LEADING,
    SURE,
    SWEEP_CONFIDENCE,
    SWEEP_FACTOR,
    SWEEP_LAST,
    SWEEP_OPEN,
    SWEEP_POSITION,
    SWEEP_STAGE,
    eliminate,
    find_leading,
    one_combination_left,
    partner_share,
    show,
    start_levels,
)
from rankone.policies.factors.elimination.rank1elim_kl import Rank1ElimKLState

# More fields of the counters, after those of `rankone.policies.engines.elimination`.
ANYTIME_OPENED, ANYTIME_REPEAT, ANYTIME_TO_PLAY, ANYTIME_ASKED, ANYTIME_GUESS, ANYTIME_SYNCS, ANYTIME_PARTNER = range(
    7, 14
)
ROWS, COLS = range(2)  # the two factors
ANYTIME_C = 0  # field of `level` before SWEEP_CONFIDENCE
_FIRST_LENGTH, _MAX_STAGES = 16, 40


_OF_ROUNDS = ("behind", "behind_left", "played", "partners", "stage_pulls", "stage_clicks")


class AnytimeState(with_fields(Rank1ElimKLState, *_OF_ROUNDS)):  # type: ignore[misc]
    """What elimination keeps, of the stages that this round has closed, and the outcomes of every stage for later ones.

    counters, (14,): where in the round we are; constants, (3,): c, unused, confidence of this round; behind, (K + L,)
    and behind_left, (2,): levels that play the current stage, rows from place 0, columns from place K, and how many;
    played, (K + L,): number of stages the level has played. By stage, (stages, K + L): partners, how often it plays the
    level as a partner of the other side; stage_pulls and stage_clicks, outcomes of each level.
    """


@dataclass(frozen=True)
class Rank1ElimKLAnytime(Policy):
    """Eliminate rows and columns by KL confidence bounds, without a horizon: the confidence grows, counts are kept.

    Args:
        c: coefficient of log log T in the confidence, as in rank1elim-kl.

    >>> agent = Rank1ElimKLAnytime().agent(n_rows=3, n_cols=2)
    >>> agent.tell(agent.ask(), clicked=True)
    """

    name = "rank1elim-kl-anytime"
    use_when = "outcomes in rare batches, horizon unknown"
    c: AtLeast0 = 3.0

    def start(self, n_rows: int, n_cols: int) -> AnytimeState:
        """Return the state before the first round."""
        check_sizes(n_rows, n_cols)
        levels = n_rows + n_cols
        behind, played = np.zeros((2, levels), np.int64)
        partners, stage_pulls, stage_clicks = np.zeros((3, _MAX_STAGES, levels), np.int64)
        constants, start = np.array([self.c, 0.0, 0.0]), start_levels(np.array([n_rows, n_cols]))
        start |= {"counters": np.zeros(14, np.int64), "constants": constants}
        rounds = behind, np.zeros(2, np.int64), played, partners, stage_pulls, stage_clicks
        return AnytimeState(**start, **dict(zip(_OF_ROUNDS, rounds, strict=True)))


# Eliminations are for a round: none is passed on to another experiment, and no choice is for good.
settled.register(AnytimeState)(lambda state: False)
adopt.register(AnytimeState)(lambda state, defeated_by: None)
defeats.register(AnytimeState)(lambda state, n_levels: np.arange(n_levels))


@noalloc
def stage_length(stage: int) -> int:
    """Sweeps a side in a stage: 16 * 2^l by the end of stage l."""
    return _FIRST_LENGTH << max(0, stage - 1)


@noalloc
def other_side(state: AnytimeState, side: int) -> tuple[int, int]:
    """Return the first level of the side whose levels are partners, and the level after its last."""
    return state.first[1 - side], state.first[2 - side]


@noalloc
def begin_round(state: AnytimeState) -> None:
    """Double the guess, raise the confidence to it, and let all levels remain again."""
    counters, levels = state.counters, len(state.pulls)
    counters[ANYTIME_GUESS] = max(counters[ANYTIME_GUESS], 2 * _FIRST_LENGTH * levels)
    while counters[ANYTIME_GUESS] <= counters[ANYTIME_ASKED]:
        counters[ANYTIME_GUESS] *= 2
    log_guess = math.log(counters[ANYTIME_GUESS])
    state.constants[SWEEP_CONFIDENCE] = log_guess + state.constants[ANYTIME_C] * math.log(max(1.0, log_guess))
    for level in range(levels):
        state.defeated_by[level] = state.remaining[level] = level
        state.pulls[level] = state.clicks[level] = 0
    counters[SWEEP_STAGE] = 0
    for side in range(2):
        state.left[side] = state.sizes[side]


@noalloc
def open_stage(state: AnytimeState, rng: Any) -> None:
    """Draw the partners of a new stage; find the remaining levels that have not played it."""
    counters, stage = state.counters, state.counters[SWEEP_STAGE]
    for side in range(2):
        first, last = other_side(state, side)
        if stage == counters[ANYTIME_OPENED]:
            for _ in range(stage_length(stage)):
                state.partners[stage, state.defeated_by[first + int(rng.random() * (last - first))]] += 1
        own = state.first[side]
        state.behind_left[side] = 0
        for index in range(own, own + state.left[side]):
            level = state.remaining[index]
            if state.played[level] == stage:
                state.behind[own + state.behind_left[side]] = level
                state.behind_left[side] += 1
                state.played[level] += 1
    counters[ANYTIME_OPENED] = max(counters[ANYTIME_OPENED], stage + 1)
    counters[ANYTIME_TO_PLAY] = stage_length(stage) * (state.behind_left[ROWS] + state.behind_left[COLS])
    counters[ANYTIME_SYNCS] += counters[ANYTIME_TO_PLAY] > 0
    counters[SWEEP_FACTOR] = ROWS if state.behind_left[ROWS] > 0 else COLS
    if counters[ANYTIME_TO_PLAY] > 0:
        begin_side(state, rng)


@noalloc
def begin_side(state: AnytimeState, rng: Any) -> None:
    """Start one side's sweeps at a random partner."""
    counters = state.counters
    first, last = other_side(state, counters[SWEEP_FACTOR])
    counters[SWEEP_POSITION] = counters[ANYTIME_REPEAT] = 0
    counters[ANYTIME_PARTNER] = first + int(rng.random() * (last - first))
    find_partner(state)


@noalloc
def find_partner(state: AnytimeState) -> None:
    """Move on, around the other side, to a partner that the stage still has to play."""
    counters = state.counters
    first, last = other_side(state, counters[SWEEP_FACTOR])
    while counters[ANYTIME_REPEAT] == state.partners[counters[SWEEP_STAGE], counters[ANYTIME_PARTNER]]:
        counters[ANYTIME_REPEAT] = 0
        counters[ANYTIME_PARTNER] = first if counters[ANYTIME_PARTNER] + 1 == last else counters[ANYTIME_PARTNER] + 1


@noalloc
def close_stage(state: AnytimeState, rng: Any) -> None:
    """Add the outcomes of the stage to the sums and eliminate."""
    stage = state.counters[SWEEP_STAGE]
    for level in range(len(state.pulls)):  # whole arrays at once would take seconds to compile
        state.pulls[level] += state.stage_pulls[stage, level]
        state.clicks[level] += state.stage_clicks[stage, level]
    eliminate(state, rng)
    state.counters[SWEEP_STAGE] += 1


@decide.register(AnytimeState)
def _decide(state: AnytimeState, context: Any, rng: Any, shown: Any) -> int:
    counters, opened = state.counters, False
    while counters[ANYTIME_TO_PLAY] == 0 and counters[SWEEP_OPEN] == 0:
        if counters[ANYTIME_ASKED] >= counters[ANYTIME_GUESS]:
            begin_round(state)
        elif one_combination_left(state):
            break
        else:
            close_stage(state, rng)
        if not one_combination_left(state):
            open_stage(state, rng)
            opened = True
    counters[ANYTIME_ASKED] += 1
    if counters[ANYTIME_TO_PLAY] == 0:  # one pair remains, or outcomes of this stage are still missing
        find_leading(state, rng)
        show(state, LEADING, shown)
        return FILLER
    side = counters[SWEEP_FACTOR]
    tag = 2 * counters[SWEEP_STAGE] + side
    state.shown_last[side] = state.behind[state.first[side] + counters[SWEEP_POSITION]]
    state.shown_last[1 - side] = counters[ANYTIME_PARTNER]
    counters[SWEEP_LAST] = side
    counters[SWEEP_OPEN] += 1
    counters[ANYTIME_TO_PLAY] -= 1
    counters[SWEEP_POSITION] += 1
    sweep_ends = counters[SWEEP_POSITION] == state.behind_left[side]
    if sweep_ends and counters[ANYTIME_TO_PLAY] > 0:
        counters[SWEEP_POSITION] = 0
        counters[ANYTIME_REPEAT] += 1
        if side == ROWS and counters[ANYTIME_TO_PLAY] == stage_length(counters[SWEEP_STAGE]) * state.behind_left[COLS]:
            counters[SWEEP_FACTOR] = COLS
            begin_side(state, rng)
        else:
            find_partner(state)
    show(state, DRAWN if opened else SURE, shown)
    return tag


@partner_share.register(AnytimeState)
def _partner_share(state: AnytimeState, factor: int, level: int) -> float:
    """Return the share of starting points from which `find_partner` gets to this level."""
    stage, first, last = state.counters[SWEEP_STAGE], state.first[factor], state.first[factor + 1]
    if state.partners[stage, level] == 0:
        return 0.0
    starts, before = 1, level
    for _ in range(last - first - 1):
        before = last - 1 if before == first else before - 1
        if state.partners[stage, before] > 0:
            break
        starts += 1
    return starts / (last - first)


@learn.register(AnytimeState)
def _learn(state: AnytimeState, shown: Any, tag: int, outcome: Any) -> None:
    if tag >= 0:
        level = state.first[tag % 2] + shown[tag % 2]
        state.stage_pulls[tag // 2, level] += 1
        state.stage_clicks[tag // 2, level] += outcome[0]
        state.counters[SWEEP_OPEN] -= 1


@syncs.register(AnytimeState)
def _syncs(state: AnytimeState) -> int:
    counters = state.counters
    is_open = counters[ANYTIME_TO_PLAY] + counters[SWEEP_OPEN] > 0  # this stage is not in yet
    return int(counters[ANYTIME_SYNCS] - is_open)
