"""KL-UCB on the K * L pairs: Garivier, Cappe, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (2011).

After t decisions, choose the pair with the largest ``max{q : pulls * d(mean, q) <= log t + c log log t}``; a pair
without an outcome comes first. c = 3 in the theorem, c = 0 in practice (the default); log log t counts as 0 while
log t < 1. Ties go to the pair chosen longest ago, and among pairs never chosen to a random one.

`engines.index_race` finds that pair without computing every index; ``tests/oracles/plain_indices.py`` computes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rankone.numerics.kl import bernoulli_kl, kl_upper
from rankone.policies.base import Policy, check_c, check_sizes
from rankone.policies.engines import index_policies  # noqa: F401  registers choosing and learning
from rankone.policies.engines.index_groups import CONSTANT, IndexState, start_groups
from rankone.policies.engines.index_race import exploration_level, index_at, index_slope, level_needed


class KLUCBState(IndexState):
    """Pulls and clicks of every pair; the constant is c."""


@dataclass(frozen=True)
class KLUCB(Policy):
    """Optimism by Bernoulli KL bounds, every pair for itself.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).

    >>> KLUCB(c=3).label
    'kl-ucb:c=3'
    """

    name: ClassVar[str] = "kl-ucb"
    suits: ClassVar[str] = "pairs that need not be rank-1, with a guarantee; outcomes at once"
    c: float = 0.0

    def __post_init__(self) -> None:
        check_c(self.c)

    def start(self, n_rows: int, n_cols: int) -> KLUCBState:
        """Return the state before the first decision."""
        check_sizes(n_rows, n_cols)
        return start_groups(KLUCBState, n_rows, n_cols, self.c)


@exploration_level.register(KLUCBState)
def _exploration_level(state: KLUCBState, asked: int) -> float:
    level = math.log(asked) if asked > 1 else 0.0
    return level + state.levels[CONSTANT] * math.log(level) if level > 1.0 else level


@index_at.register(KLUCBState)
def _index_at(state: KLUCBState, pulls: int, clicks: int, level: float) -> float:
    return kl_upper(clicks / pulls, level / pulls)


@index_slope.register(KLUCBState)
def _index_slope(state: KLUCBState, pulls: int, clicks: int, level: float, index: float) -> float:
    # One over the derivative of pulls * d(mean, index) by index.
    return index * (1.0 - index) / (pulls * index - clicks) if index < 1.0 else 0.0


@level_needed.register(KLUCBState)
def _level_needed(state: KLUCBState, pulls: int, clicks: int, index: float) -> float:
    if index >= 1.0:  # also for a pair always clicked: its index is 1, which is not beyond
        return math.inf
    mean = clicks / pulls
    return pulls * bernoulli_kl(mean, index) if mean < index else 0.0
