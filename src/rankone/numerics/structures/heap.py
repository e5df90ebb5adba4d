"""A calendar of things to come: a binary heap of records, rows of whole numbers, ordered by their first two entries."""

from rankone.compiling.compiled import noalloc
from rankone.numerics.arrays import Ints


@noalloc
def is_before(records: Ints, first: int, second: int) -> bool:
    """Tell whether one record comes before another."""
    if records[first, 0] != records[second, 0]:
        return bool(records[first, 0] < records[second, 0])
    return bool(records[first, 1] < records[second, 1])


@noalloc
def swap(records: Ints, first: int, second: int) -> None:
    """Exchange two records."""
    for field in range(records.shape[1]):
        records[first, field], records[second, field] = records[second, field], records[first, field]


@noalloc
def enter_last(records: Ints, size: int) -> None:
    """Bring the record written at place `size`, behind the `size` there are, to its place."""
    index = size
    while index > 0 and is_before(records, index, (index - 1) // 2):
        swap(records, index, (index - 1) // 2)
        index = (index - 1) // 2


@noalloc
def drop_first(records: Ints, size: int) -> None:
    """Take the earliest of `size` records away; the others are then the first ``size - 1``."""
    last = size - 1
    swap(records, 0, last)
    index = 0
    while 2 * index + 1 < last:
        child = 2 * index + 1
        if child + 1 < last and is_before(records, child + 1, child):
            child += 1
        if not is_before(records, child, index):
            break
        swap(records, index, child)
        index = child
