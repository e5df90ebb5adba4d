"""The hash table against a dictionary."""

import numba

from rankone.numerics.seeds import generator
from rankone.numerics.structures.hash_tables import NOBODY, find, rekey, start_chains


@numba.njit
def change(table, item, first, second):
    rekey(table, item, first, second)


@numba.njit
def look(table, first, second):
    return find(table, first, second)


def test_finds_what_a_dictionary_finds():
    rng = generator(1, "chains")
    items = 50
    table = start_chains(items, 10, 5)
    item_of = {(0, i): i for i in range(10)}
    for _ in range(3_000):
        item, key = int(rng.integers(items)), (int(rng.integers(12)), int(rng.integers(12)))
        if key not in item_of:
            change(table, item, *key)
            item_of = {other: i for other, i in item_of.items() if i != item} | {key: item}
        key = (int(rng.integers(12)), int(rng.integers(12)))
        assert look(table, *key) == item_of.get(key, NOBODY)
