"""dcmKL-UCB: Katariya, Kveton, Szepesvari, Wen, "DCM Bandits: Learning to Rank with Multiple Clicks" (ICML 2016),
Algorithm 1.

The index and the start of `cascade-kl-ucb`; a list counts as looked at down to the last click (all of it without
one), and the item with the k-th largest index goes to the position from which the k-th most visitors leave satisfied.
Only the order of these probabilities is used; where it is not known, they are taken to fall from the top.
"""

from dataclasses import dataclass

from rankone.policies.base import AtLeast0, ListPolicy
from rankone.policies.engines.lists.item_race import start_items
from rankone.policies.engines.lists.layout import UNTIL, OfPositions, positions_by_termination
from rankone.policies.lists.cascades.cascade_kl_ucb import KLItemState


@dataclass(frozen=True)
class DCMKLUCB(ListPolicy):
    """Optimism by Bernoulli KL bounds, item by item, for visitors who click more than once.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).
        termination: how many leave satisfied after a click at each position; only the order counts. A study fills it
            in.
    """

    name = "dcm-kl-ucb"
    use_when = "dependent clicks, with a guarantee; outcomes at once"
    c: AtLeast0 = 0.0
    termination: OfPositions = None

    def _begin(self, n_items: int, n_positions: int) -> KLItemState:
        positions = positions_by_termination(self.termination, n_positions)
        return start_items(KLItemState, n_items, positions, UNTIL["last"], self.c)
