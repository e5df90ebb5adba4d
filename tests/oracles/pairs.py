"""The state shared by policies that learn every pair for itself: pulls and clicks of each pair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import kernel
from rankone.kernels.policy import learn
from rankone.numerics.arrays import Floats, Ints

# Fields of `PairState.counters`.
ASKED, N_COLS = range(2)


class PairState(NamedTuple):
    """Counts of every pair; pair (row, col) has number ``row * n_cols + col``."""

    pulls: Ints  # (K * L,) outcomes
    clicks: Ints  # (K * L,) clicks among them
    chosen: Ints  # (K * L,) when the pair was last chosen; below zero, in random order, before that
    counters: Ints  # (2,) decisions so far; number of columns
    constants: Floats  # the policy's own constants


def start_pairs(state_class: Any, n_rows: int, n_cols: int, *constants: float) -> Any:
    """Return the state before the first decision."""
    n_pairs = n_rows * n_cols
    zeros = (np.zeros(n_pairs, np.int64) for _ in range(3))
    return state_class(*zeros, np.array([0, n_cols]), np.array(constants, np.float64))


@kernel
def shuffle_first_choices(state: PairState, rng: Any) -> None:
    """Put the pairs never chosen in random order (Fisher-Yates), so that ties never follow the numbering."""
    chosen = state.chosen
    for pair in range(len(chosen)):
        other = int(rng.random() * (pair + 1))
        chosen[pair] = chosen[other]
        chosen[other] = pair - len(chosen)


@kernel
def remember_choice(state: PairState, pair: int, shown: Any) -> int:
    """Note when the pair was chosen; fill it in as a decision."""
    state.chosen[pair] = state.counters[ASKED]
    state.counters[ASKED] += 1
    shown[0], shown[1] = pair // state.counters[N_COLS], pair % state.counters[N_COLS]
    return 0


@learn.register(PairState)
def _learn(state: PairState, shown: Any, tag: int, outcome: Any) -> None:
    pair = shown[0] * state.counters[N_COLS] + shown[1]
    state.pulls[pair] += 1
    state.clicks[pair] += outcome[0]
