"""Thompson sampling in cascades: studied as CTS by Zhong, Cheung, Tan, "Thompson Sampling Algorithms for Cascading
Bandits" (JMLR 2021), section 3; also Russo et al., "A Tutorial on Thompson Sampling" (2018), section 7.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1); the K largest draws are shown, the largest
first. An item counts as looked at down to the first click, and all are without a click. There is no start phase.
"""

from dataclasses import dataclass

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import UNTIL, Order, Until, positions_by_order
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws


@dataclass(frozen=True)
class CascadeTS(ListPolicy):
    """Thompson sampling, item by item, for lists that are read down to the first click.

    Args:
        order: ``best-first``, or ``worst-first``: in a cascade the reward is the same, and more is learned.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
    """

    name = "cascade-ts"
    use_when = "cascades: the least regret; late outcomes"
    order: Order = "best-first"
    until: Until = "first"

    def _begin(self, n_items: int, n_positions: int) -> TopDrawsState:
        return start_draws(n_items, positions_by_order(n_positions, self.order), UNTIL[self.until])
