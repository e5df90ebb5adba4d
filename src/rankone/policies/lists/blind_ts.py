"""A yardstick: Thompson sampling that is blind to positions. Every item shown counts as looked at.

What most people write first. An item that happened to stand where nobody looks seems bad and is not shown higher, so
that some runs never find the best list: their regret grows without end (`docs/measured.md` has the figures).
"""

from dataclasses import dataclass

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.layout import UNTIL, positions_by_order
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws


@dataclass(frozen=True)
class BlindTS(ListPolicy):
    """Thompson sampling, item by item, as if every position were looked at: a yardstick that can get stuck.

    >>> BlindTS().label
    'blind-ts'
    """

    name = "blind-ts"
    use_when = "a yardstick: what ignoring positions costs"

    def _begin(self, n_items: int, n_positions: int) -> TopDrawsState:
        return start_draws(n_items, positions_by_order(n_positions, "best-first"), UNTIL["all"])
