"""A yardstick: Thompson sampling that is blind to positions. Every item shown counts as looked at.

What most people write first. An item that happened to stand where nobody looks seems bad and is not shown higher, so
that some runs never find the best list: their regret grows without end (`docs/which-list-policy.md` has the figures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankone.policies.base import ListPolicy
from rankone.policies.engines.lists.list_reading import UNTIL, places_by_order
from rankone.policies.engines.lists.top_draws import TopDrawsState, start_draws


class BlindTSState(TopDrawsState):
    """Displays and clicks of every item, and the bar that draws are compared with."""


@dataclass(frozen=True)
class BlindTS(ListPolicy):
    """Thompson sampling, item by item, as if every position were looked at: a yardstick that can get stuck.

    >>> BlindTS().label
    'blind-ts'
    """

    name: ClassVar[str] = "blind-ts"
    use_when: ClassVar[str] = "a yardstick: what ignoring positions costs"

    def _begin(self, n_items: int, n_positions: int) -> BlindTSState:
        return start_draws(BlindTSState, n_items, places_by_order(n_positions, "best-first"), UNTIL["all"])
