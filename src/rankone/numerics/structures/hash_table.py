"""A compiled hash table: finds or adds the number of a pair of integers. Open addressing, linear probing.

Entries are numbered 0, 1, 2, ... in the order in which they came; what belongs to an entry lives in arrays of the
caller under that number. The table never grows inside compiled code: the caller makes room before a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled, noalloc
from rankone.numerics.arrays import Ints

Slots = npt.NDArray[np.int32]
_FIRST_CAPACITY = 1 << 12


class HashTable(NamedTuple):
    """Pairs of integers and their numbers; at least half of the slots stay empty."""

    slots: Slots
    first: Ints
    second: Ints
    size: Ints  # one value: how many entries there are


def hash_table(capacity: int = _FIRST_CAPACITY) -> HashTable:
    """Return an empty table with room for `capacity` entries (rounded up to a power of two)."""
    room = 1 << max(0, capacity - 1).bit_length()
    return HashTable(
        np.full(2 * room, -1, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(1, np.int64)
    )


def with_room(table: HashTable, additions: int) -> HashTable:
    """Return the table itself, or a larger copy if `additions` more entries might not fit.

    >>> table = hash_table(4)
    >>> len(with_room(table, 4).first), len(with_room(table, 5).first)
    (4, 8)
    """
    size = int(table.size[0])
    if size + additions <= len(table.first):
        return table
    larger = hash_table(size + additions)
    compiled(_copy, __name__)(table, larger)
    return larger


@noalloc
def entry(table: HashTable, first: int, second: int) -> int:
    """Number of the pair (first, second); a new pair gets the next number."""
    mask = len(table.slots) - 1
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    place = np.int64(mixed >> np.uint64(32)) & mask
    while True:
        number = table.slots[place]
        if number < 0:
            number = table.size[0]
            table.slots[place] = number
            table.first[number] = first
            table.second[number] = second
            table.size[0] = number + 1
            return number
        if table.first[number] == first and table.second[number] == second:
            return number
        place = (place + 1) & mask


def _copy(source: HashTable, target: HashTable) -> None:
    for number in range(source.size[0]):
        entry(target, source.first[number], source.second[number])
