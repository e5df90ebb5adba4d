"""A hash table in plain arrays: finds the slot of a number. Open addressing, linear probing; nothing is ever removed.

`keys` has the number of each slot, `table` the slot at each place; slots are given out in the order in which numbers
came. Where both are empty, every number is its own slot: whoever keeps something by slot need not know which it is.
"""

from __future__ import annotations

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.numerics.arrays import Ints

NO_SLOT = -1
_SPREAD = 0x9E3779B97F4A7C15 >> 1  # odd bits: numbers that differ little land far apart


def start_slots(capacity: int) -> tuple[Ints, Ints]:
    """Return (keys, table) with room for so many numbers; at least half of the table stays empty."""
    return np.full(capacity, NO_SLOT), np.full(1 << (2 * capacity - 1).bit_length(), NO_SLOT)


@noalloc
def _find(keys: Ints, table: Ints, number: int) -> int:
    """Return the place in the table where a number is, or would be."""
    mask = len(table) - 1
    mixed = (number ^ (number >> 15)) * _SPREAD
    place = (mixed ^ (mixed >> 31)) & mask
    while table[place] != NO_SLOT and keys[table[place]] != number:
        place = (place + 1) & mask
    return place


@inlined
def slot_of(keys: Ints, table: Ints, number: int) -> int:
    """Return the slot of a number, `NO_SLOT` if it has none."""
    return number if len(table) == 0 else table[_find(keys, table, number)]


@inlined
def number_at(keys: Ints, slot: int) -> int:
    """Return the number of a slot."""
    return slot if len(keys) == 0 else keys[slot]


@noalloc
def give_slot(keys: Ints, table: Ints, number: int, slot: int) -> None:
    """Give a number that has none a slot."""
    keys[slot] = number
    table[_find(keys, table, number)] = slot
