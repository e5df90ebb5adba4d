"""CascadeUCB1: Kveton, Szepesvari, Wen, Ashkan, "Cascading Bandits: Learning to Rank in the Cascade Model" (2015),
Algorithm 1 with the index of section 4.2.

After t lists, show the K items with the largest ``mean + sqrt(1.5 log t / looks)``, the largest first. What counts as
looked at, how it starts and who wins ties is as in `cascade-kl-ucb`, which has a third of its regret.

CombCascade (Kveton, Wen, Ashkan, Szepesvari, "Combinatorial Cascading Bandits", NIPS 2015, Algorithm 1) is the same
where all items have to be good, for lists of any K of L items: no weight is above 1, the list with the largest product
of weights is shown, and items are tried up to the first that fails (the world `Conjunctive`).
"""

import math
from dataclasses import dataclass
from typing import Any

from rankone.policies.base import ListPolicy
from rankone.policies.engines.index_race import exploration_level, index_at, index_slope
from rankone.policies.engines.lists.item_race import ItemRaceState, start_items
from rankone.policies.engines.lists.layout import UNTIL, Order, Until, positions_by_order


class UCB1ItemState(ItemRaceState):
    """Looks and clicks of every item."""


@exploration_level.register(UCB1ItemState)
def _level(state: Any, asked: int) -> float:
    return 1.5 * math.log(asked) if asked > 1 else 0.0


@index_at.register(UCB1ItemState)
def _index(state: Any, pulls: int, clicks: int, level: float) -> float:
    return clicks / pulls + math.sqrt(level / pulls)


@index_slope.register(UCB1ItemState)
def _slope(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    return 0.5 / math.sqrt(level * pulls) if level > 0.0 else math.inf


class CombCascadeState(UCB1ItemState):
    """Tries and successes of every item."""


@index_at.register(CombCascadeState)
def _index_cut(state: Any, pulls: int, clicks: int, level: float) -> float:
    return min(1.0, clicks / pulls + math.sqrt(level / pulls))


@index_slope.register(CombCascadeState)
def _slope_cut(state: Any, pulls: int, clicks: int, level: float, index: float) -> float:
    if index >= 1.0:
        return 0.0
    return 0.5 / math.sqrt(level * pulls) if level > 0.0 else math.inf


@dataclass(frozen=True)
class CascadeUCB1(ListPolicy):
    """Optimism by Hoeffding bounds, item by item, for lists that are read down to the first click.

    Args:
        order: ``best-first``, or ``worst-first``: in a cascade the reward is the same, and more is learned.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
    """

    name = "cascade-ucb1"
    use_when = "a comparison with the literature on cascades"
    order: Order = "best-first"
    until: Until = "first"

    def _begin(self, n_items: int, n_positions: int) -> UCB1ItemState:
        return start_items(UCB1ItemState, n_items, positions_by_order(n_positions, self.order), UNTIL[self.until])


@dataclass(frozen=True)
class CombCascade(ListPolicy):
    """Optimism for lists that work only as a whole: every item has to."""

    name = "comb-cascade"
    use_when = "lists that work only if all of their items do, with a guarantee"

    def _begin(self, n_items: int, n_positions: int) -> CombCascadeState:
        return start_items(CombCascadeState, n_items, positions_by_order(n_positions, "best-first"), UNTIL["miss"])
