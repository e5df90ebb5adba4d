"""Thompson sampling with the reading rule of the dependent click model (Katariya et al. 2016): `cascade-ts` for
visitors who click more than once.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1). A list counts as looked at down to the last
click (all of it without one), and the item with the k-th largest draw goes to the position from which the k-th most
visitors leave satisfied; where that order is not known, it is taken to fall from the top.
"""

from dataclasses import dataclass

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import UNTIL, OfPositions, positions_by_termination
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws


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
        positions = positions_by_termination(self.termination, n_positions)
        return start_draws(n_items, positions, UNTIL["last"])
