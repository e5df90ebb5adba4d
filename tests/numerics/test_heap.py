"""The calendar gives records back in order."""

import numba
import numpy as np

from rankone.numerics.seeds import generator
from rankone.numerics.structures.trees import drop_first, enter_last


@numba.njit
def sorted_by_calendar(keys, out):
    records = np.empty((len(keys), 2), np.int64)
    for place in range(len(keys)):
        records[place, 0], records[place, 1] = keys[place], place
        enter_last(records, place)
    for place in range(len(keys)):
        out[place] = records[0]
        drop_first(records, len(keys) - place)


def test_records_come_out_in_order_and_ties_by_their_second_entry():
    for size in (1, 2, 3, 17, 1_000):
        keys = generator(size).integers(0, 20, size)
        out = np.empty((size, 2), np.int64)
        sorted_by_calendar(keys, out)
        expected = sorted((key, place) for place, key in enumerate(keys.tolist()))
        assert out.tolist() == [list(entry) for entry in expected]
