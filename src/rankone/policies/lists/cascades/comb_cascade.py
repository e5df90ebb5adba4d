"""CombCascade: Kveton, Wen, Ashkan, Szepesvari, "Combinatorial Cascading Bandits" (NIPS 2015), Algorithm 1, for lists
of any K of L items.

After t lists, every item has the optimistic weight ``min(1, mean + sqrt(1.5 log t / tries))``; the feasible list with
the largest product of weights is shown, here the K items with the largest. Items are tried up to the first that fails
(the world `Conjunctive`). An item that was never tried comes first; ties go to the item shown longest ago.
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.policies.base import ListPolicy
from rankone.policies.engines.index_race import exploration_level, index_at, index_slope
from rankone.policies.engines.lists.item_race import ItemRaceState, start_items
from rankone.policies.engines.lists.layout import UNTIL, positions_by_order
from rankone.policies.lists.cascades.cascade_ucb1 import SCALE


class CombCascadeState(ItemRaceState):
    """Tries and successes of every item."""


@exploration_level.register(CombCascadeState)
def _level(state: Any, asked: int) -> float:
    return SCALE * math.log(asked) if asked > 1 else 0.0


@index_at.register(CombCascadeState)
def _index(state: Any, pulls: int, clicks: int, level: float) -> float:
    return min(1.0, clicks / pulls + math.sqrt(level / pulls))


@index_slope.register(CombCascadeState)
def _slope(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    if index >= 1.0:
        return 0.0
    return 0.5 / math.sqrt(level * pulls) if level > 0.0 else math.inf


@dataclass(frozen=True)
class CombCascade(ListPolicy):
    """Optimism for lists that work only as a whole: every item has to."""

    name = "comb-cascade"
    use_when = "lists that work only if all of their items do, with a guarantee"

    def _begin(self, n_items: int, n_positions: int) -> CombCascadeState:
        return start_items(CombCascadeState, n_items, positions_by_order(n_positions, "best-first"), UNTIL["miss"])
