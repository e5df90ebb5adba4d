"""Thompson sampling with the reading rule of the dependent click model (Katariya et al. 2016): `cascade-ts` for
visitors who click more than once.

Every item draws from its posterior Beta(clicks + 1, looks - clicks + 1). A list counts as looked at down to the last
click (all of it without one), and the item with the k-th largest draw goes to the position from which the k-th most
visitors leave satisfied; where that order is not known, it is taken to fall from the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.list_known import check_probabilities, places_by_termination
from rankone.policies.engines.lists.list_reading import UNTIL
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws
from rankone.specs import Numbers


class DCMTSState(TopDrawsState):
    """Looks and clicks of every item, and the bar that draws are compared with."""


@dataclass(frozen=True)
class DCMTS(ListPolicy):
    """Thompson sampling, item by item, for visitors who click more than once.

    Args:
        termination: how many leave satisfied after a click at each position; only the order counts. A study fills it
            in.

    >>> DCMTS().label
    'dcm-ts'
    """

    name: ClassVar[str] = "dcm-ts"
    use_when: ClassVar[str] = "dependent clicks: the least regret; late outcomes"
    termination: Numbers | None = None

    def __post_init__(self) -> None:
        check_probabilities("termination", self.termination)

    def _begin(self, n_items: int, n_positions: int) -> DCMTSState:
        return start_draws(DCMTSState, n_items, places_by_termination(self.termination, n_positions), UNTIL["last"])
