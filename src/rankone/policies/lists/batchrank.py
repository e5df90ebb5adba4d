"""BatchRank: Zoghi, Tunys, Ghavamzadeh, Kveton, Szepesvari, Wen, "Online Learning to Rank in Stochastic Click Models"
(ICML 2017), Algorithms 1 to 3.

A batch is a range of positions and the items that compete for them; at first all items for all positions. In stage l a
batch shows its least shown items at random places, until each was shown ``n_l = ceil(16 * 4^l * log T)`` times. Then,
with KL bounds at ``log T + 3 log log T`` and items sorted by their lower bounds: after the last item (of those before
the batch's last position) whose lower bound is above every upper bound below it, the batch splits in two, which both
begin at stage 0. Without a split, items whose upper bound is below the lower bound of the last that has a place leave
the batch, and the next stage begins. Items below a click count as not clicked.

The printed pseudo-code goes on to the next stage only if there are more items than places. A batch with as many items
as places and no split would then shuffle for ever; here it goes on. Who is shown beyond n_l times, to fill a list, is
not counted; a list that will never have an outcome is shown again.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.errors import InputError
from rankone.kernels.policy import FILLER, decide, learn, settled, withdraw
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.kl import kl_lower, kl_upper
from rankone.numerics.states import start_state
from rankone.policies.base import ListPolicy, needed_horizon

_MOST_POSITIONS = 62  # the tag of a list has a bit for each position that counts
# Rows of `BatchRankState.batches`.
FIRST, LENGTH, STAGE, BLOCK_SIZE, MISSING = range(5)


class BatchRankState(NamedTuple):
    """The batches, and what was counted in the present stage of each."""

    batch: Annotated[Ints, "L"]  # number of the item's batch; -1: it has left
    asked: Annotated[Ints, "L"]  # counted displays in this stage, and how many of them have an outcome
    seen: Annotated[Ints, "L"]
    clicks: Annotated[Ints, "L"]
    batches: Annotated[Ints, "5, K"]  # first position, positions, stage, items, outcomes missing in this stage
    counters: Annotated[Ints, "1"]  # batches
    keys: Annotated[Floats, "L"]  # scratch space
    high: Annotated[Floats, "L"]  # scratch space
    ranked: Annotated[Ints, "L"]  # scratch space
    constants: Annotated[Floats, "2"]  # level of the bounds; log T


@dataclass(frozen=True)
class BatchRank(ListPolicy):
    """Splits the list where it is sure of an order, and eliminates items that are surely too bad.

    Args:
        horizon: number of lists; a study fills it in.
    """

    name = "batchrank"
    use_when = "a comparison with the literature on unknown click models"
    horizon: int | None = None

    def _begin(self, n_items: int, n_positions: int) -> BatchRankState:
        if n_positions > _MOST_POSITIONS:
            do = "show fewer, or take another policy"
            raise InputError(f"at most {_MOST_POSITIONS} positions for batchrank", n_positions, do)
        log_horizon = math.log(max(2, needed_horizon(self, self.horizon)))
        batches = np.zeros((5, n_positions), np.int64)
        batches[LENGTH, 0], batches[BLOCK_SIZE, 0] = n_positions, n_items
        batches[MISSING, 0] = n_items * _length(0, log_horizon)
        confidence = log_horizon + 3.0 * math.log(max(1.0, log_horizon))
        constants = [confidence, log_horizon]
        return start_state(BatchRankState, L=n_items, K=n_positions, batches=batches, counters=1, constants=constants)


def _length(stage: int, log_horizon: float) -> int:
    return math.ceil(16.0 * 4.0**stage * log_horizon)


_length_of = noalloc(_length)


@noalloc
def _rank(keys: Floats, batch: Ints, number: int, ranked: Ints, room: int) -> int:
    """Fill `ranked` with the items of a batch that have the smallest keys, the smallest first; return how many."""
    count = 0
    for item in range(len(keys)):
        if batch[item] != number:
            continue
        rank = count
        if count == room:
            if keys[item] >= keys[ranked[room - 1]]:
                continue
            rank = room - 1
        while rank > 0 and keys[item] < keys[ranked[rank - 1]]:
            ranked[rank] = ranked[rank - 1]
            rank -= 1
        ranked[rank] = item
        count += 1 if count < room else 0
    return count


@decide.register(BatchRankState)
def _decide(state: Any, context: Any, rng: Any, shown: Any) -> int:
    batches, ranked, counted = state.batches, state.ranked, 0
    for number in range(state.counters[0]):
        first, length = batches[FIRST, number], batches[LENGTH, number]
        enough = _length_of(batches[STAGE, number], state.constants[1])
        alone = batches[BLOCK_SIZE, number] == 1
        for item in range(len(state.batch)):
            if state.batch[item] == number:
                state.keys[item] = 0.0 if alone else min(state.asked[item], enough) + rng.random()
        _rank(state.keys, state.batch, number, ranked, length)
        for rank in range(length):
            if not alone:
                other = rank + int(rng.random() * (length - rank))
                ranked[rank], ranked[other] = ranked[other], ranked[rank]
            item = ranked[rank]
            shown[first + rank] = item
            if not alone and state.asked[item] < enough:
                state.asked[item] += 1
                counted |= 1 << (first + rank)
    return counted if counted else FILLER


@noalloc
def _renew(state: Any, number: int, first: int, length: int, stage: int) -> None:
    """Begin a stage of a batch with the items that it has now."""
    batches, size = state.batches, 0
    for item in range(len(state.batch)):
        if state.batch[item] == number:
            state.asked[item] = state.seen[item] = state.clicks[item] = 0
            size += 1
    batches[FIRST, number], batches[LENGTH, number] = first, length
    batches[STAGE, number], batches[BLOCK_SIZE, number] = stage, size
    batches[MISSING, number] = size * _length_of(stage, state.constants[1])


@noalloc
def _end_stage(state: Any, number: int) -> None:
    """Split a batch, or throw items out."""
    batches, ranked, high = state.batches, state.ranked, state.high
    first, length, stage = batches[FIRST, number], batches[LENGTH, number], batches[STAGE, number]
    shows = _length_of(stage, state.constants[1])
    for item in range(len(state.batch)):
        if state.batch[item] == number:
            mean = state.clicks[item] / shows
            high[item] = kl_upper(mean, state.constants[0] / shows)
            state.keys[item] = -kl_lower(mean, state.constants[0] / shows)
    size = _rank(state.keys, state.batch, number, ranked, len(ranked))
    split, highest = 0, -1.0
    for rank in range(size - 1, 0, -1):
        highest = max(highest, high[ranked[rank]])
        if rank < length and -state.keys[ranked[rank - 1]] > highest:
            split = rank
            break
    if split == 0:
        lowest = -state.keys[ranked[length - 1]]
        for rank in range(size):
            if high[ranked[rank]] < lowest:
                state.batch[ranked[rank]] = -1
        _renew(state, number, first, length, stage + 1)
        return
    new = state.counters[0]
    state.counters[0] += 1
    for rank in range(split, size):
        state.batch[ranked[rank]] = new
    _renew(state, number, first, split, 0)
    _renew(state, new, first + split, length - split, 0)


@learn.register(BatchRankState)
def _learn(state: Any, shown: Any, tag: int, outcome: Any) -> None:
    for position in range(len(shown)):
        if tag >> position & 1:
            item = shown[position]
            state.seen[item] += 1
            state.clicks[item] += outcome[position]
            state.batches[MISSING, state.batch[item]] -= 1
    for number in range(state.counters[0]):
        if state.batches[BLOCK_SIZE, number] > 1 and state.batches[MISSING, number] == 0:
            _end_stage(state, number)


@withdraw.register(BatchRankState)
def _withdraw(state: Any, shown: Any, tag: int) -> None:
    for position in range(len(shown)):
        if tag >= 0 and tag >> position & 1:
            state.asked[shown[position]] -= 1


@settled.register(BatchRankState)
def _settled(state: BatchRankState) -> bool:
    most = 1
    for number in range(state.counters[0]):
        most = max(most, state.batches[BLOCK_SIZE, number])
    return most == 1
