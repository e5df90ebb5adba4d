"""What was shown and what was clicked, packed into columns of the journal.

A pair needs none of this: its row and its column have columns of their own, and its outcome is 0 or 1. Whatever else is
shown (a combination of more than two factors, a list of items) is a row of small whole numbers in the column `shown`;
of a combination the first two are in `row` and `col`, too. The
outcome of a list is a mask in `value`: bit 0 for its first place, bit 1 for its second. So 0 still means that nothing
was clicked, and 1 that the first, or the only, thing was.

The probabilities of a decision's cross (`rankone.kernels.evidence`) are single-precision numbers, one for each row and
each column that there was by then, behind the number of rows. Where there are not two factors, they stand behind a 0,
the number of factors and the number of levels of each.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError

MAX_CHOICE = 2**16 - 1  # the largest number that can be shown
MAX_LIST = 62  # places of a list whose clicks fit into one whole number of a database
_CELL = np.dtype("<u2")
_CHANCE = np.dtype("<f4")


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


def shown_levels(pairs: npt.NDArray[np.int64], packed: Sequence[bytes | None], n_factors: int) -> npt.NDArray[np.int64]:
    """Return combinations, (n, factors), of which the journal has the first two levels in columns of their own.

    What was decided before a factor was added had its first level.

    >>> shown_levels(np.array([[3, 1], [2, 0]]), [pack_shown([3, 1, 5]), None], n_factors=3).tolist()
    [[3, 1, 5], [2, 0, 0]]
    """
    if n_factors <= 2:
        return pairs[:, :n_factors]
    with contextlib.suppress(TypeError):  # some are None: of decisions before there were so many factors
        whole = b"".join(packed)  # type: ignore[arg-type]
        if len(whole) == len(packed) * _CELL.itemsize * n_factors:  # nearly always, as none has more than all factors
            return np.frombuffer(whole, _CELL).reshape(len(packed), n_factors).astype(np.int64)
    usual = [place for place, data in enumerate(packed) if data is not None and len(data) == _CELL.itemsize * n_factors]
    found = np.zeros((len(packed), n_factors), np.int64)
    found[:, :2] = pairs
    joined = np.frombuffer(b"".join([packed[place] or b"" for place in usual]), _CELL)
    found[usual] = joined.reshape(len(usual), n_factors)
    if len(usual) < len(packed):
        for place in set(range(len(packed))) - set(usual):
            some = unpack_shown(packed[place] or b"")
            found[place, : len(some)] = some
    return found


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


def pack_cross(chances: npt.NDArray[np.floating], sizes: Sequence[int]) -> bytes:
    """Return the probabilities of a cross, factor after factor, as the journal keeps them.

    >>> pack_cross(np.array([0.5, 0.25, 0.25]), sizes=(2, 1)).hex()
    '02000000003f0000803e0000803e'
    """
    return _cross_head(tuple(sizes)) + chances.astype(_CHANCE).tobytes()


@functools.lru_cache(100)
def _cross_head(sizes: tuple[int, ...]) -> bytes:
    """Return what stands before the probabilities of a cross."""
    return np.array(sizes[:1] if len(sizes) == 2 else [0, len(sizes), *sizes], _CELL).tobytes()


def _read_cross(data: bytes) -> tuple[list[int], npt.NDArray[np.floating]]:
    """Return the number of levels of each factor, and the probabilities."""
    first = int.from_bytes(data[:2], "little")
    if first:
        chances = np.frombuffer(data, _CHANCE, offset=_CELL.itemsize)
        return [first, len(chances) - first], chances
    factors = int.from_bytes(data[2:4], "little")
    sizes = np.frombuffer(data, _CELL, factors, offset=2 * _CELL.itemsize)
    return sizes.tolist(), np.frombuffer(data, _CHANCE, offset=(2 + factors) * _CELL.itemsize)


def unpack_crosses(
    packed: Sequence[bytes | None], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return crosses, a row each, and which are known; the others are zeros. Levels that came later had no chance.

    Of a factor that came later all decisions had the first level.

    >>> unpack_crosses([None, pack_cross(np.array([0.5, 0.5, 0.25]), sizes=(1, 2))], sizes=(2, 2))[0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.25]]
    """
    head, levels = _cross_head(tuple(sizes)), sum(sizes)
    size = len(head) + _CHANCE.itemsize * levels
    found = np.zeros((len(packed), levels))
    known = np.array([data is not None for data in packed], bool)
    usual = [
        place
        for place, data in enumerate(packed)
        if data is not None and len(data) == size and data[: len(head)] == head
    ]
    if usual:
        joined = np.frombuffer(b"".join([packed[place] or b"" for place in usual]), np.uint8).reshape(len(usual), size)
        found[usual] = np.ascontiguousarray(joined[:, len(head) :]).view(_CHANCE)
    if len(usual) < np.count_nonzero(known):
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for place in set(np.flatnonzero(known).tolist()) - set(usual):
            before, chances = _read_cross(packed[place] or b"")
            for first, part in zip(starts, np.split(chances, np.cumsum(before)[:-1]), strict=False):
                found[place, first : first + len(part)] = part
            found[place, starts[len(before) : -1]] = 1.0
    return found, known
