"""TopRank: Lattimore, Kveton, Li, Szepesvari, "TopRank: A Practical Algorithm for Online Stochastic Ranking"
(NeurIPS 2018), Algorithm 1, with delta = 1 / horizon.

Items are in blocks: in the first those that no item is known to beat, in the second those that only items of the first
beat, and so on. A list shows the blocks in order, each in a fresh random order, as far as there is room. For two items
of one block, count the lists on which only one of them was clicked; an item that was not shown was not clicked. Item i
beats item j as soon as, of N such lists, S more were i's than j's, with ``S >= sqrt(2 N log(c sqrt(N) / delta))`` and
c = 4 sqrt(2 / pi) / erf(sqrt(2)) = 3.34 (the paper prints 3.43). It holds in any click model in which a better item is
never clicked less at the same place, and higher positions are never clicked less; clicks are all that counts.

The pseudo-code is silent on two things. Should relations run in a circle (probability at most delta L^2), what is left
becomes one block. Outcomes may come late: two items count only if they have been in one block ever since the list was
shown, because else the order of that list was not random between them.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import noalloc
from rankone.kernels.policy import Belief, believe, decide, learn, settled
from rankone.numerics.arrays import Floats, Ints, Mask
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy, needed_horizon

C = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
# Fields of `TopRankState.counters`.
CHANGES, N_BLOCKS, SETTLED = range(3)


class TopRankState(NamedTuple):
    """Who has beaten whom how often, and the blocks."""

    wins: Annotated[
        npt.NDArray[np.int32], "L, L"
    ]  # lists on which the one was clicked and the other, of the same block, was not
    beats: Annotated[Mask, "L, L"]
    block: Annotated[Ints, "L"]  # number of the item's block
    since: Annotated[Ints, "L"]  # change at which the items of its block came together; by the block's number
    order: Annotated[Ints, "L"]  # the items, block after block
    ends: Annotated[Ints, "L"]  # where in `order` each block ends
    scratch: Annotated[Ints, "3, L"]
    counters: Annotated[Ints, "3"]  # changes of the blocks; how many blocks; is the list fixed for ever
    log_level: Annotated[Floats, "1"]  # log(c / delta)


@dataclass(frozen=True)
class TopRank(ListPolicy):
    """Sorts items into blocks of which it is sure, and shuffles inside blocks: sound in any usual click model.

    Args:
        horizon: number of lists; a study fills it in.
    """

    name = "toprank"
    use_when = "an unknown click model, with a guarantee; the top position is the best"
    horizon: int | None = None

    def _begin(self, n_items: int, n_positions: int) -> TopRankState:
        return start_state(
            TopRankState,
            L=n_items,
            order=np.arange(n_items),
            ends=[n_items] + [0] * (n_items - 1),
            counters=[0, 1, n_items == 1],
            log_level=math.log(C * needed_horizon(self, self.horizon)),
        )


@decide.register(TopRankState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    order, position, block = state.order, 0, 0
    while position < len(shown):
        end = state.ends[block]
        while position < end and position < len(shown):
            other = position + int(rng.random() * (end - position))
            order[position], order[other] = order[other], order[position]
            shown[position] = order[position]
            position += 1
        block += 1
    return state.counters[CHANGES]


@noalloc
def _place_unbeaten(state: Any, waiting: Any, first: int) -> int:
    """Put all items that wait for nobody in order from a place on; return the place behind them."""
    placed = first
    for step in range(2):
        if placed == first:  # the second time they are a circle: all that is left
            for item in range(len(waiting)):
                if waiting[item] == 0 or (step == 1 and waiting[item] > 0):
                    state.order[placed] = item
                    placed += 1
    return placed


@noalloc
def _form_block(state: Any, block: int, first: int, end: int) -> None:
    """Let the items at these places be a block, and those that they beat wait for fewer."""
    before, waiting, oldest = state.scratch[0], state.scratch[1], state.scratch[2]
    as_before = True  # in a part of one earlier block: then its items have long been together
    for position in range(first, end):
        item = state.order[position]
        as_before = as_before and before[item] == before[state.order[first]]
        state.block[item], waiting[item] = block, -1
    state.since[block] = oldest[before[state.order[first]]] if as_before else state.counters[CHANGES]
    for position in range(first, end):
        for other in range(len(waiting)):
            if state.beats[state.order[position], other]:
                waiting[other] -= 1
    state.ends[block] = end


@noalloc
def _divide(state: Any, n_positions: int) -> None:
    """Form the blocks again."""
    n_items = len(state.block)
    before, waiting, oldest = state.scratch[0], state.scratch[1], state.scratch[2]
    for item in range(n_items):
        before[item] = state.block[item]
        waiting[item] = 0
        for other in range(n_items):
            waiting[item] += state.beats[other, item]
    for block in range(state.counters[N_BLOCKS]):
        oldest[block] = state.since[block]
    state.counters[CHANGES] += 1
    placed = block = 0
    while placed < n_items:
        end = _place_unbeaten(state, waiting, placed)
        _form_block(state, block, placed, end)
        placed = end
        block += 1
    state.counters[N_BLOCKS] = block
    state.counters[SETTLED] = 1
    for position in range(min(n_positions, block)):
        if state.ends[position] != position + 1:
            state.counters[SETTLED] = 0


@noalloc
def _count_click(state: Any, shown: Any, outcome: Any, item: int) -> bool:
    """Count a click for an item against those of its block that were not clicked; return whether it beats another."""
    block, order, news = state.block[item], state.order, False
    first, end = state.ends[block - 1] if block > 0 else 0, state.ends[block]
    for at in range(first, end):
        state.wins[item, order[at]] += 1
    for above in range(len(shown)):  # not where both were clicked
        if outcome[above] and shown[above] >= 0 and state.block[shown[above]] == block:
            state.wins[item, shown[above]] -= 1
    for at in range(first, end):
        won, lost = state.wins[item, order[at]], state.wins[order[at], item]
        lead, met = won - lost, won + lost
        if lead > 0 and lead * lead >= 2.0 * met * (state.log_level[0] + 0.5 * math.log(met)):
            state.beats[item, order[at]] = news = True
    return news


@learn.register(TopRankState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    news = False
    for position in range(len(shown)):
        item = shown[position]
        if item >= 0 and outcome[position] and tag >= state.since[state.block[item]]:
            news |= _count_click(state, shown, outcome, item)
    if news:
        _divide(state, len(shown))


@settled.register(TopRankState)
def _settled(state: TopRankState) -> bool:
    return bool(state.counters[SETTLED])


@believe.register(TopRankState)
def _believe(state: TopRankState, rng: Any) -> Belief:
    n_items = len(state.block)
    return Belief(
        state.block.copy(),
        np.zeros(n_items),
        np.zeros((n_items, 1)),
        np.ones(1),
        np.arange(n_items),
        int(state.counters[CHANGES]),
    )
