"""KL-UCB on the K * L pairs: Garivier, Cappe, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (2011).

After t decisions, choose the pair with the largest ``max{q : pulls * d(mean, q) <= log t + c log log t}``; a pair
without an outcome comes first. c = 3 in the theorem, c = 0 in practice (the default). Ties go to the pair chosen
longest ago, and among pairs never chosen to a random one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rankone.errors import InputError
from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.base import Policy, check_sizes
from rankone.policies.kernels import chooses
from rankone.policies.pairs import ASKED, PairState, remember_choice, shuffle_first_choices, start_pairs


class KLUCBState(PairState):
    """Pulls and clicks of every pair; the constant is c."""


@dataclass(frozen=True)
class KLUCB(Policy):
    """Optimism by Bernoulli KL bounds, every pair an arm of its own.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).

    >>> KLUCB(c=3).label
    'kl-ucb:c=3'
    """

    name: ClassVar[str] = "kl-ucb"
    suits: ClassVar[str] = "pairs that need not be rank-1, with a guarantee; outcomes at once"
    c: float = 0.0

    def start(self, n_rows: int, n_cols: int) -> KLUCBState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        if not math.isfinite(self.c) or self.c < 0.0:
            raise InputError("c of at least 0", self.c, "use c=0 (in practice) or c=3 (as in the theorem)")
        state: KLUCBState = start_pairs(KLUCBState, n_rows, n_cols, self.c)
        return state


@chooses.register(KLUCBState)
def _choose(state: PairState, rng: Any) -> tuple[int, int, int]:
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
