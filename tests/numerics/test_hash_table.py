"""The growing hash table against a dictionary."""

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.numerics.seeds import generator
from rankone.numerics.structures.hash_tables import entry, hash_table, with_room


def _numbers(table, first, second, out):
    for place in range(len(out)):
        out[place] = entry(table, first[place], second[place])


def test_pairs_are_numbered_in_the_order_in_which_they_first_came():
    rng, table, known = generator(1, "hash table"), hash_table(4), {}
    for batch in (3, 1, 50, 2_000, 2_000):
        first, second = rng.integers(-20, 20, (2, batch))  # few enough that most come again
        table = with_room(table, batch)
        found = np.empty(batch, np.int64)
        compiled(_numbers, __name__)(table, first, second, found)
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        assert found.tolist() == [known.setdefault(pair, len(known)) for pair in pairs]
    size = int(table.size[0])
    assert size == len(known)
    assert list(zip(table.first[:size].tolist(), table.second[:size].tolist(), strict=True)) == list(known)
    assert len(table.slots) >= 2 * len(table.first), "half of the slots stay empty"
