"""Thompson sampling in cascades: studied as CTS by Zhong, Cheung, Tan, "Thompson Sampling Algorithms for Cascading
Bandits" (JMLR 2021), section 3; also Russo et al., "A Tutorial on Thompson Sampling" (2018), section 7.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1); the K largest draws are shown, the largest
first. An item counts as looked at down to the first click, and all are without a click. There is no start phase.

`engines.lists.top_draws` makes only draws that can be among the K largest; ``tests/oracles/plain_lists.py`` makes all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.list_reading import UNTIL, check_order, check_until, places_by_order
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws


class CascadeTSState(TopDrawsState):
    """Looks and clicks of every item, and the bar that draws are compared with."""


@dataclass(frozen=True)
class CascadeTS(ListPolicy):
    """Thompson sampling, item by item, for lists that are read down to the first click.

    Args:
        order: ``best-first``, or ``worst-first``: in a cascade the reward is the same, and more is learned.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.

    >>> CascadeTS(order="worst-first").label
    'cascade-ts:order=worst-first'
    """

    name: ClassVar[str] = "cascade-ts"
    use_when: ClassVar[str] = "cascades: the least regret; late outcomes"
    order: str = "best-first"
    until: str = "first"

    def __post_init__(self) -> None:
        check_order(self.order)
        check_until(self.until)

    def _begin(self, n_items: int, n_positions: int) -> CascadeTSState:
        return start_draws(CascadeTSState, n_items, places_by_order(n_positions, self.order), UNTIL[self.until])
