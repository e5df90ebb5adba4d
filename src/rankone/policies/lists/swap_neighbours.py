"""One list, whose neighbours change places now and then: the cheapest way to learn how positions are looked at.

Joachims, Swaminathan, Schnabel, "Unbiased learning-to-rank with biased feedback" (WSDM 2017), section 5.1, with swaps
of neighbours (Craswell et al., WSDM 2008): an item that stands at two positions by chance compares them. At most one
pair of neighbours is swapped in a list, each with a probability that is set beforehand, so the probability of every
list is known. What was shown then gives the curve (`rankone.clicks.examination_curve`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankone.errors import InputError
from rankone.kernels.policy import FILLER, chance, decide
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.base import ListPolicy, learns_nothing
from rankone.specs import Numbers, Wholes, whole_number

_USUAL_SHARE = 0.1


class SwapNeighboursState(NamedTuple):
    """The list, and how probable each swap is."""

    items: Ints  # (K,)
    until: Floats  # (K - 1,) probability that one of the first pairs is swapped, this one included


@dataclass(frozen=True)
class SwapNeighbours(ListPolicy):
    """Shows one list and swaps one pair of neighbours with a known probability; learns nothing.

    Args:
        items: the items from the first position to the last, each counted from 0; default: the first ones in order, and
            in a study the best list.
        rates: probability of swapping positions 1 and 2, 2 and 3, ...; default: 0.1 in all, the same for each.
    """

    name = "swap-neighbours"
    use_when = "learning how positions are looked at, at a known cost, around a list that stays"
    told_best = "items"
    items: Wholes | None = None
    rates: Numbers | None = None

    def _begin(self, n_items: int, n_positions: int) -> SwapNeighboursState:
        items = tuple(range(n_positions)) if self.items is None else self.items
        if len(items) != n_positions or len(set(items)) != n_positions:
            got = ", ".join(map(str, items))
            raise InputError(f"{n_positions} different items for the policy '{self.name}'", got, "name each once")
        for item in items:
            whole_number(f"an item of the policy '{self.name}'", item, least=0, most=n_items - 1)
        pairs = n_positions - 1
        rates = (_USUAL_SHARE / max(pairs, 1),) * pairs if self.rates is None else self.rates
        if len(rates) != pairs or min(rates, default=0.0) < 0.0 or not sum(rates) <= 1.0:
            expected = f"{pairs} probabilities that add up to at most 1, one a pair of neighbours"
            got = ", ".join(f"{rate:g}" for rate in rates) or "none"
            raise InputError(expected, got, "leave them out for the same rate at each")
        return SwapNeighboursState(np.array(items, np.int64), np.cumsum(np.array(rates, np.float64)))


@decide.register(SwapNeighboursState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    for position in range(len(shown)):
        shown[position] = state.items[position]
    draw = rng.random()
    for position in range(len(state.until)):
        if draw < state.until[position]:
            shown[position], shown[position + 1] = shown[position + 1], shown[position]
            break
    return FILLER


learns_nothing(SwapNeighboursState)


@chance.register(SwapNeighboursState)
def _chance(state: Any, shown: Any) -> float:
    pairs = len(state.until)
    swapped = -1
    for position in range(len(shown)):
        if shown[position] != state.items[position]:
            swapped = position
            break
    if swapped < 0:
        return 1.0 - (state.until[pairs - 1] if pairs > 0 else 0.0)
    for position in range(len(shown)):
        home = position
        if position == swapped:
            home = position + 1
        elif position == swapped + 1:
            home = position - 1
        if home >= len(shown) or shown[position] != state.items[home]:
            return 0.0
    before = state.until[swapped - 1] if swapped > 0 else 0.0
    return state.until[swapped] - before
