"""A hash table in plain arrays: finds the item that has a given key of two whole numbers; keys may change.

Row i of `table` is item i; columns KEY_FIRST and KEY_SECOND are its key, column KEY_NEXT the next item of its chain.
Column KEY_HEAD of row c is the first item of chain c; the number of rows is a power of two. Callers use further columns
as they like.
"""

from __future__ import annotations

import numpy as np

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Ints

NOBODY = -1
KEY_FIRST, KEY_SECOND, KEY_NEXT, KEY_HEAD = range(4)
_SPREAD = 1_000_003  # an odd multiplier: keys that differ little land in chains far apart


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
