"""UCB1 and KL-UCB by their definitions: compute the index of every pair at every step. The engine's slow twins.

Compiled, so that they can follow the engine far, and so that benchmarks can time them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankone.kernels.policy import decide
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.engines.index_groups import CHOSEN, RACE_ASKED, IndexState
from rankone.policies.factors.kl_ucb import KLUCB
from rankone.policies.factors.ucb1 import UCB1
from tests.oracles.pairs import ASKED, PairState, remember_choice, shuffle_first_choices, start_pairs


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


def plain_twin(policy: UCB1 | KLUCB) -> UCB1 | KLUCB:
    """The plain policy with the same parameters."""
    return PlainKLUCB(policy.c) if isinstance(policy, KLUCB) else PlainUCB1()


def plain_state(policy: UCB1 | KLUCB, state: IndexState) -> Any:
    """The state of the plain twin at the moment the engine has reached."""
    plain = plain_twin(policy).start(*state.sizes.tolist())
    np.copyto(plain.pulls, state.pulls)
    np.copyto(plain.clicks, state.clicks)
    np.copyto(plain.chosen, state.pairs[:, CHOSEN])
    plain.counters[ASKED] = state.counters[RACE_ASKED]
    return plain


@decide.register(PlainUCB1State)
def _decide_ucb1(state: PairState, context: Any, rng: Any, shown: Any) -> int:
    pulls, clicks, chosen, asked = state.pulls, state.clicks, state.chosen, state.counters[ASKED]
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
    return remember_choice(state, best, shown)


@decide.register(PlainKLUCBState)
def _decide_kl_ucb(state: PairState, context: Any, rng: Any, shown: Any) -> int:
    pulls, clicks, chosen, asked = state.pulls, state.clicks, state.chosen, state.counters[ASKED]
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
            # index < best_index exactly when n d(mean, best_index) > level: most pairs need no root. (Not at 1, where
            # indices that differ by less than rounding tie.)
            if mean < best_index < 1.0 and n * bernoulli_kl(mean, best_index) > level * (1.0 + 1e-9):
                continue
            index = kl_upper(mean, level / n)
        if index > best_index or (index == best_index and chosen[pair] < chosen[best]):
            best, best_index = pair, index
    return remember_choice(state, best, shown)
