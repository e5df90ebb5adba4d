"""Thompson sampling on the K * L pairs: Thompson (1933); Agrawal, Goyal, "Analysis of Thompson Sampling for the
Multi-armed Bandit Problem" (2012), Algorithm 1 for Bernoulli rewards.

Every pair draws from its posterior Beta(clicks + 1, pulls - clicks + 1); the largest draw is chosen.

Where that is cheaper the draws are not made one by one (`largest_draw`): `rankone.numerics.beta_maximum` draws the
winner with the same law. The pair pulled most is the one held out of the crowd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import chances, choose, update, view
from rankone.numerics.beta import draw_beta
from rankone.numerics.beta_maximum import (
    CROWD_RENEW_AT,
    challenge,
    charge,
    fields_with_crowd,
    pays,
    regroup,
    replace,
    start_crowd,
)
from rankone.numerics.rekeyable_table import NOBODY
from rankone.policies.base import Policy, check_sizes
from rankone.policies.beliefs import posterior_view
from rankone.policies.engines.draw_chances import fill_all_draws

# Fields of `ThompsonState.clock`.
THOMPSON_N_COLS, THOMPSON_HELD_OUT, THOMPSON_STALE = range(3)


class ThompsonState(fields_with_crowd("pulls", "clicks", "clock")):  # type: ignore[misc]
    """Pulls and clicks of each pair; clock, (3,): number of columns, pair held out, is the crowd stale; the crowd."""


@dataclass(frozen=True)
class Thompson(Policy):
    """Thompson sampling, every pair for itself.

    >>> Thompson().label
    'thompson'
    """

    name: ClassVar[str] = "thompson"
    suits: ClassVar[str] = "pairs that need not be rank-1; any horizon, late outcomes"

    def start(self, n_rows: int, n_cols: int) -> ThompsonState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        pulls, clicks = np.zeros((2, n_rows * n_cols), np.int64)
        return ThompsonState(pulls, clicks, np.array([n_cols, len(pulls) - 1, 0]), *start_crowd(len(pulls), absent=1))


@noalloc
def largest_draw(state: Any, rng: Any) -> int:
    """Let every pair draw, one by one; return the pair with the largest draw."""
    winner, largest = 0, -1.0
    for pair in range(len(state.pulls)):
        draw = draw_beta(state.pulls[pair], state.clicks[pair], rng)
        if draw > largest:
            winner, largest = pair, draw
    return winner


@noalloc
def gather_crowd(state: Any) -> None:
    """Tell the crowd the counts of all pairs but the one held out."""
    state.clock[THOMPSON_STALE] = 0
    for pair in range(len(state.pulls)):
        if pair != state.clock[THOMPSON_HELD_OUT]:
            regroup(state, pair, state.pulls[pair], state.clicks[pair])


@choose.register(ThompsonState)
def _choose(state: Any, rng: Any) -> tuple[int, int, int]:
    clock = state.clock
    if pays(state, len(state.pulls)):
        if clock[THOMPSON_STALE]:
            gather_crowd(state)
        pair = challenge(state, state.pulls[clock[THOMPSON_HELD_OUT]], state.clicks[clock[THOMPSON_HELD_OUT]], rng)
        if pair == NOBODY:
            pair = clock[THOMPSON_HELD_OUT]
    else:
        clock[THOMPSON_STALE] = 1
        pair = largest_draw(state, rng)
    return pair // clock[THOMPSON_N_COLS], pair % clock[THOMPSON_N_COLS], 0


@update.register(ThompsonState)
def _update(state: Any, row: int, col: int, tag: int, reward: int) -> None:
    pulls, clicks, clock = state.pulls, state.clicks, state.clock
    pair, held_out = row * clock[THOMPSON_N_COLS] + col, clock[THOMPSON_HELD_OUT]
    pulls[pair] += 1
    clicks[pair] += reward
    if pair == held_out:
        return
    if pulls[pair] > pulls[held_out]:
        replace(state, pair, held_out)
        clock[THOMPSON_HELD_OUT], state.tally[CROWD_RENEW_AT] = pair, 0
        pair = held_out
    if clock[THOMPSON_STALE]:
        charge(state)
    else:
        regroup(state, pair, pulls[pair], clicks[pair])


@chances.register(ThompsonState)
def _chances(state: Any, shown: Any, found: Any) -> bool:
    fill_all_draws(state.pulls, state.clicks, state.clock[THOMPSON_N_COLS], shown, found)
    return True


view.register(ThompsonState)(posterior_view)
