"""A yardstick: an oracle that always shows one given list, normally the best one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import FILLER, decide, settled
from rankone.numerics.arrays import Ints
from rankone.policies.base import ListPolicy, learns_nothing
from rankone.specs import Wholes, whole_number


class BestListState(NamedTuple):
    """The list to show."""

    items: Ints  # (K,)


@dataclass(frozen=True)
class BestList(ListPolicy):
    """Always shows the same items; a study fills in the best list of its problem.

    Args:
        items: the items from the first position to the last, each counted from 0.

    >>> BestList().for_problem(2, 0).label
    'best-list:items=2x0'
    """

    items: Wholes | None = None
    name = "best-list"
    use_when = "a yardstick: no regret at all"
    told_best = "items"

    def _begin(self, n_items: int, n_positions: int) -> BestListState:
        if self.items is None or len(self.items) != n_positions:
            got = "none" if self.items is None else f"{len(self.items)}"
            raise InputError(f"{n_positions} items for the policy 'best-list'", got, "try best-list:items=0x1")
        for item in self.items:
            whole_number("an item of the policy 'best-list'", item, least=0, most=n_items - 1)
            if self.items.count(item) > 1:
                raise InputError("each item once in a list", f"item {item} twice", "name another one")
        return BestListState(np.array(self.items, np.int64))


@decide.register(BestListState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    for position in range(len(shown)):
        shown[position] = state.items[position]
    return FILLER


@settled.register(BestListState)
def _settled(state: BestListState) -> bool:
    return True


learns_nothing(BestListState)
