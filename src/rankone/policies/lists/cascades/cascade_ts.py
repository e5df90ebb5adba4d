"""Thompson sampling in cascades: studied as CTS by Zhong, Cheung, Tan, "Thompson Sampling Algorithms for Cascading
Bandits" (JMLR 2021), section 3; also Russo et al., "A Tutorial on Thompson Sampling" (2018), section 7.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1); the K largest draws are shown, the largest
first. An item counts as looked at down to the first click, and all are without a click. There is no start phase.

`dcm-ts` is the same with the reading rule of the dependent click model (see `dcm-kl-ucb`), for visitors who click more
than once.
"""

from dataclasses import dataclass

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import (
    UNTIL,
    OfPositions,
    Order,
    Until,
    positions_by_order,
    positions_by_termination,
)
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


@dataclass(frozen=True)
class DCMTS(ListPolicy):
    """Thompson sampling, item by item, for visitors who click more than once.

    Args:
        termination: how many leave satisfied after a click at each position; only the order counts. A study fills it
            in.
    """

    name = "dcm-ts"
    use_when = "dependent clicks: the least regret; late outcomes"
    termination: OfPositions = None

    def _begin(self, n_items: int, n_positions: int) -> TopDrawsState:
        return start_draws(n_items, positions_by_termination(self.termination, n_positions), UNTIL["last"])
