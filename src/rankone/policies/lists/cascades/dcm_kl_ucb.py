"""dcmKL-UCB: Katariya, Kveton, Szepesvari, Wen, "DCM Bandits: Learning to Rank with Multiple Clicks" (ICML 2016),
Algorithm 1.

The index and the start of `cascade-kl-ucb`; a list counts as looked at down to the last click (all of it without
one), and the item with the k-th largest index goes to the position from which the k-th most visitors leave satisfied.
Only the order of these probabilities is used; where it is not known, they are taken to fall from the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankone.policies.base import ListPolicy, check_c
from rankone.policies.engines.lists.item_race import start_items
from rankone.policies.engines.lists.list_known import check_probabilities, places_by_termination
from rankone.policies.engines.lists.list_reading import UNTIL
from rankone.policies.lists.cascades.cascade_kl_ucb import KLItemState
from rankone.specs import Numbers


class DCMKLState(KLItemState):
    """Looks and clicks of every item; the constant is c."""


@dataclass(frozen=True)
class DCMKLUCB(ListPolicy):
    """Optimism by Bernoulli KL bounds, item by item, for visitors who click more than once.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).
        termination: how many leave satisfied after a click at each position; only the order counts. A study fills it
            in.

    >>> DCMKLUCB(termination=(0.2, 0.9)).label
    'dcm-kl-ucb:termination=0.2x0.9'
    """

    name: ClassVar[str] = "dcm-kl-ucb"
    use_when: ClassVar[str] = "dependent clicks, with a guarantee; outcomes at once"
    c: float = 0.0
    termination: Numbers | None = None

    def __post_init__(self) -> None:
        check_c(self.c)
        check_probabilities("termination", self.termination)

    def _begin(self, n_items: int, n_positions: int) -> DCMKLState:
        places = places_by_termination(self.termination, n_positions)
        return start_items(DCMKLState, n_items, places, UNTIL["last"], self.c)
