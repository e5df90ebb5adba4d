"""What was shown and what was clicked, packed into columns of the journal.

A pair needs none of this: its row and its column have columns of their own, and its outcome is 0 or 1. Whatever else is
shown (a combination of several factors, a list of items) is a row of small whole numbers in the column `shown`. The
outcome of a list is a mask in `value`: bit 0 for its first place, bit 1 for its second. So 0 still means that nothing
was clicked, and 1 that the first, or the only, thing was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankone.errors import InputError

MAX_CHOICE = 2**16 - 1  # the largest number that can be shown
MAX_LIST = 62  # places of a list whose clicks fit into one whole number of a database
_CELL = np.dtype("<u2")


def pack_shown(choices: Sequence[int]) -> bytes:
    """Return what was shown as the journal keeps it: two bytes a choice, the lower one first.

    >>> pack_shown([3, 258])
    b'\\x03\\x00\\x02\\x01'
    """
    if not all(0 <= choice <= MAX_CHOICE for choice in choices):
        raise InputError(f"choices from 0 to {MAX_CHOICE}", list(choices), "number what can be shown from 0")
    return np.array(choices, _CELL).tobytes()


def unpack_shown(data: bytes) -> list[int]:
    """Return what was shown.

    >>> unpack_shown(pack_shown([3, 258]))
    [3, 258]
    """
    return np.frombuffer(data, _CELL).tolist()


def pack_clicks(clicked: Sequence[bool | int]) -> int:
    """Return the outcome of a list as one number.

    >>> pack_clicks([True, False, True])
    5
    """
    if len(clicked) > MAX_LIST:
        raise InputError(f"a list of at most {MAX_LIST} places", len(clicked), "show a shorter list")
    return sum(1 << place for place, click in enumerate(clicked) if click)


def unpack_clicks(value: int, size: int) -> list[bool]:
    """Return for each of `size` places whether it was clicked.

    >>> unpack_clicks(5, size=4)
    [True, False, True, False]
    """
    if not 0 <= value < 1 << size <= 1 << MAX_LIST:
        raise InputError(f"the clicks of a list of {size} places", value, "read it with the size it was shown with")
    return [bool(value >> place & 1) for place in range(size)]
