"""CascadeKL-UCB: Kveton, Szepesvari, Wen, Ashkan, "Cascading Bandits: Learning to Rank in the Cascade Model" (2015),
Algorithm 1 with the index of section 4.3.

After t lists, show the K items with the largest ``max{q : looks * d(mean, q) <= log t + c log log t}``, the largest
first. An item counts as looked at down to the first click, and all are without a click. c = 3 in the theorem and in the
paper's tables, c = 0 in practice. log log t counts as 0 while log t < 1.

The paper starts with one free look at every item, which its regret does not count. Here an item that nobody has looked
at has an infinite index: the first L / K lists, roughly, show every item once, and their regret counts. Ties go to the
item shown longest ago, at first to a random one.

dcmKL-UCB is the same for visitors who click more than once (Katariya, Kveton, Szepesvari, Wen, "DCM Bandits: Learning
to Rank with Multiple Clicks", ICML 2016, Algorithm 1): a list counts as looked at down to the last click (all of it
without one), and the item with the k-th largest index goes to the position from which the k-th most visitors leave
satisfied. Only the order of these probabilities is used; where it is not known, they are taken to fall from the top.
"""

from dataclasses import dataclass

from rankone.policies.base import AtLeast0, ListPolicy
from rankone.policies.engines.index_race import goes_by_kl
from rankone.policies.engines.lists.item_race import ItemRaceState, start_items
from rankone.policies.engines.lists.layout import (
    UNTIL,
    OfPositions,
    Order,
    Until,
    positions_by_order,
    positions_by_termination,
)


class KLItemState(ItemRaceState):
    """Looks and clicks of every item; the constant is c."""


goes_by_kl(KLItemState)


@dataclass(frozen=True)
class CascadeKLUCB(ListPolicy):
    """Optimism by Bernoulli KL bounds, item by item, for lists that are read down to the first click.

    Args:
        c: coefficient of log log t in the exploration level (3 in the theorem, 0 in practice).
        order: ``best-first``, or ``worst-first``: in a cascade the reward is the same, and more is learned.
        until: how far a list counts as read: to the ``first`` click, the ``last``, or ``all`` of it.
    """

    name = "cascade-kl-ucb"
    use_when = "cascades, with a guarantee; outcomes at once"
    c: AtLeast0 = 0.0
    order: Order = "best-first"
    until: Until = "first"

    def _begin(self, n_items: int, n_positions: int) -> KLItemState:
        return start_items(KLItemState, n_items, positions_by_order(n_positions, self.order), UNTIL[self.until], self.c)


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
