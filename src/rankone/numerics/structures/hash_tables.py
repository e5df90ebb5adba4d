"""Hash tables in plain arrays, for compiled code: three kinds, two with open addressing and linear probing.

**Slots** find the slot of a number; nothing is ever removed. `keys` has the number of each slot, `table` the slot at
each place. Where both are empty, every number is its own slot.

**Chains** find the item with a key of two whole numbers; keys may change. Row i of the table is item i: its key, the
next item of its chain, and in KEY_HEAD of row c the first item of chain c; the rows are a power of two.

A **`HashTable`** finds or adds the number of a pair of integers; what belongs to an entry lives in arrays of the caller
under that number. It never grows inside compiled code: the caller makes room before a batch.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import inlined, noalloc
from rankone.compiling.tiers import tiered
from rankone.numerics.arrays import Ints

NO_SLOT = NOBODY = -1
KEY_FIRST, KEY_SECOND, KEY_NEXT, KEY_HEAD = range(4)
_GOLDEN = 0x9E3779B97F4A7C15 >> 1  # odd bits: numbers that differ little land far apart
_SPREAD = 1_000_003  # an odd multiplier: keys that differ little land in chains far apart
_FIRST_CAPACITY = 1 << 12


def start_slots(capacity: int) -> tuple[Ints, Ints]:
    """Return (keys, table) with room for so many numbers; at least half of the table stays empty."""
    return np.full(capacity, NO_SLOT), np.full(1 << (2 * capacity - 1).bit_length(), NO_SLOT)


@noalloc
def _find(keys: Ints, table: Ints, number: int) -> int:
    """Return the place in the table where a number is, or would be."""
    mask = len(table) - 1
    mixed = (number ^ (number >> 15)) * _GOLDEN
    index = (mixed ^ (mixed >> 31)) & mask
    while table[index] != NO_SLOT and keys[table[index]] != number:
        index = (index + 1) & mask
    return index


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


def start_chains(items: int, linked: int, columns: int) -> Ints:
    """Return the table: the first `linked` items have the keys (0, 0), (0, 1), ..., the others none."""
    table = np.full((1 << items.bit_length(), columns), NOBODY)
    table[:linked, KEY_FIRST] = 0
    table[:linked, KEY_SECOND] = table[:linked, KEY_HEAD] = np.arange(linked)  # key (0, i) belongs to chain i
    return table


@noalloc
def find(table: Ints, first: int, second: int) -> int:
    """Return the item with this key, or NOBODY."""
    item = table[(first * _SPREAD + second) & (len(table) - 1), KEY_HEAD]
    while item != NOBODY and (table[item, KEY_FIRST] != first or table[item, KEY_SECOND] != second):
        item = table[item, KEY_NEXT]
    return item


@noalloc
def rekey(table: Ints, item: int, first: int, second: int) -> None:
    """Give an item another key."""
    mask = len(table) - 1
    if table[item, KEY_FIRST] != NOBODY:
        chain = (table[item, KEY_FIRST] * _SPREAD + table[item, KEY_SECOND]) & mask
        before, after = table[chain, KEY_HEAD], table[item, KEY_NEXT]
        if before == item:
            table[chain, KEY_HEAD] = after
        else:
            while table[before, KEY_NEXT] != item:
                before = table[before, KEY_NEXT]
            table[before, KEY_NEXT] = after
    chain = (first * _SPREAD + second) & mask
    table[item, KEY_FIRST], table[item, KEY_SECOND], table[item, KEY_NEXT] = first, second, table[chain, KEY_HEAD]
    table[chain, KEY_HEAD] = item


class HashTable(NamedTuple):
    """Pairs of integers and their numbers; at least half of the slots stay empty."""

    slots: npt.NDArray[np.int32]
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
    tiered(_copy, __name__)(table, larger, size=size)
    return larger


@noalloc
def entry(table: HashTable, first: int, second: int) -> int:
    """Number of the pair (first, second); a new pair gets the next number."""
    mask = len(table.slots) - 1
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    index = np.int64(mixed >> np.uint64(32)) & mask
    while True:
        number = table.slots[index]
        if number < 0:
            number = table.size[0]
            table.slots[index] = number
            table.first[number] = first
            table.second[number] = second
            table.size[0] = number + 1
            return number
        if table.first[number] == first and table.second[number] == second:
            return number
        index = (index + 1) & mask


def _copy(source: HashTable, target: HashTable) -> None:
    for number in range(source.size[0]):
        entry(target, source.first[number], source.second[number])
