"""UCB1 and KL-UCB by their definitions: compute the index of every pair at every step. The engine's slow twins."""

from __future__ import annotations

import math
from typing import Any

from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.kernels import chooses
from rankone.policies.kl_ucb import KLUCB
from rankone.policies.pairs import ASKED, PairState, remember_choice, shuffle_first_choices, start_pairs
from rankone.policies.ucb1 import UCB1


class PlainUCB1State(PairState):
    pass


class PlainKLUCBState(PairState):
    pass


class PlainUCB1(UCB1):
    def start(self, n_rows: int, n_cols: int) -> Any:
        return start_pairs(PlainUCB1State, n_rows, n_cols)


class PlainKLUCB(KLUCB):
    def start(self, n_rows: int, n_cols: int) -> Any:
        return start_pairs(PlainKLUCBState, n_rows, n_cols, self.c)


@chooses.register(PlainUCB1State)
def _choose_ucb1(state: PairState, rng: Any) -> tuple[int, int, int]:
    pulls, clicks, chosen, asked = state.pulls, state.clicks, state.chosen, state.clock[ASKED]
    if asked == 0:
        shuffle_first_choices(state, rng)
    level = 2.0 * math.log(asked) if asked > 1 else 0.0
    best, best_index = 0, -1.0
    for pair in range(len(pulls)):
        index = math.inf
        if pulls[pair] > 0:
            index = clicks[pair] / pulls[pair] + math.sqrt(level / pulls[pair])
        if index > best_index or (index == best_index and chosen[pair] < chosen[best]):
            best, best_index = pair, index
    return remember_choice(state, best)


@chooses.register(PlainKLUCBState)
def _choose_kl_ucb(state: PairState, rng: Any) -> tuple[int, int, int]:
    pulls, clicks, chosen, asked = state.pulls, state.clicks, state.chosen, state.clock[ASKED]
    if asked == 0:
        shuffle_first_choices(state, rng)
    level = math.log(asked) if asked > 1 else 0.0
    if level > 1.0:
        level += state.constants[0] * math.log(level)
    best, best_index = 0, -1.0
    for pair in range(len(pulls)):
        n = pulls[pair]
        index = math.inf
        if n > 0:
            mean = clicks[pair] / n
            # index < best_index exactly when n d(mean, best_index) > level: most pairs need no root.
            if mean < best_index < math.inf and n * bernoulli_kl(mean, best_index) > level * (1.0 + 1e-9):
                continue
            index = kl_upper(mean, level / n)
        if index > best_index or (index == best_index and chosen[pair] < chosen[best]):
            best, best_index = pair, index
    return remember_choice(state, best)
