"""What was shown and what was clicked, packed into columns of the journal.

A pair needs none of this: its row and its column have columns of their own, and its outcome is 0 or 1. Whatever else is
shown (a combination of several factors, a list of items) is a row of small whole numbers in the column `shown`. The
outcome of a list is a mask in `value`: bit 0 for its first place, bit 1 for its second. So 0 still means that nothing
was clicked, and 1 that the first, or the only, thing was.

The probabilities of a decision's cross (`rankone.kernels.evidence`) are single-precision numbers, one for each row and
each column that there was by then, behind the number of rows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError

MAX_CHOICE = 2**16 - 1  # the largest number that can be shown
MAX_LIST = 62  # places of a list whose clicks fit into one whole number of a database
_CELL = np.dtype("<u2")
_CHANCE = np.dtype("<f4")
_ROWS = struct.Struct("<H")


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


def pack_cross(chances: npt.NDArray[np.floating], n_rows: int) -> bytes:
    """Return the probabilities of a cross, of its rows first, as the journal keeps them.

    >>> pack_cross(np.array([0.5, 0.25, 0.25]), n_rows=2).hex()
    '02000000003f0000803e0000803e'
    """
    return _ROWS.pack(n_rows) + chances.astype(_CHANCE).tobytes()


def unpack_crosses(
    packed: Sequence[bytes | None], n_rows: int, n_cols: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return crosses, a row each, and which are known; the others are zeros. Levels that came later had no chance.

    >>> unpack_crosses([None, pack_cross(np.array([0.5, 0.5, 0.25]), n_rows=1)], n_rows=2, n_cols=2)[0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.25]]
    """
    head, size = _ROWS.pack(n_rows), _ROWS.size + _CHANCE.itemsize * (n_rows + n_cols)
    found = np.zeros((len(packed), n_rows + n_cols))
    known = np.array([data is not None for data in packed], bool)
    usual = [place for place, data in enumerate(packed) if data is not None and len(data) == size and data[:2] == head]
    if usual:
        joined = np.frombuffer(b"".join([packed[place] or b"" for place in usual]), np.uint8).reshape(len(usual), size)
        found[usual] = np.ascontiguousarray(joined[:, _ROWS.size :]).view(_CHANCE)
    if len(usual) < np.count_nonzero(known):
        for place in set(np.flatnonzero(known).tolist()) - set(usual):
            data = packed[place] or b""
            (rows,), chances = _ROWS.unpack_from(data), np.frombuffer(data, _CHANCE, offset=_ROWS.size)
            found[place, :rows], found[place, n_rows : n_rows + len(chances) - rows] = chances[:rows], chances[rows:]
    return found, known
