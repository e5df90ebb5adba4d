"""What was shown, and how likely that was, packed into columns of the journal.

What was shown is the number of the level of each factor, two bytes each; of factors that came later, none.

The probabilities of a decision's cross (`rankone.evidence.levels`) are single-precision numbers, one for each level of
each factor that there was by then, behind the number of factors and the number of levels of each.
"""

import functools
import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError

MAX_CHOICE = 2**16 - 1  # the largest number that can be shown
_CELL = np.dtype("<u2")
_CHANCE = np.dtype("<f4")
_ROUNDING = 1e-6  # by which sums of probabilities may miss 0 and 1


def pack_shown(choices: Sequence[int]) -> bytes:
    """Return what was shown as the journal keeps it: two bytes a choice, the lower one first.

    >>> pack_shown([3, 258])
    b'\\x03\\x00\\x02\\x01'
    """
    try:
        return struct.pack(f"<{len(choices)}H", *choices)
    except struct.error:
        do = "number what can be shown from 0"
        raise InputError(f"choices from 0 to {MAX_CHOICE}", list(choices), do) from None


@functools.lru_cache(10_000)
def unpack_shown(data: bytes, n_factors: int = 0) -> tuple[int, ...]:
    """Return what was shown: what was decided before a factor was added had its first level.

    >>> unpack_shown(pack_shown([3, 258])), unpack_shown(pack_shown([3]), n_factors=2)
    ((3, 258), (3, 0))
    """
    known = struct.unpack(f"<{len(data) // _CELL.itemsize}H", data)
    return known + (0,) * (n_factors - len(known))


def pack_cross(chances: npt.NDArray[np.floating], sizes: Sequence[int]) -> bytes:
    """Return the probabilities of a cross, factor after factor, as the journal keeps them.

    >>> pack_cross(np.array([0.5, 0.25, 0.25]), sizes=(2, 1)).hex()
    '0200020001000000003f0000803e0000803e'
    """
    return _cross_head(tuple(sizes)) + chances.astype(_CHANCE).tobytes()


def pack_chances(chances: npt.NDArray[np.floating]) -> bytes:
    """Return the probabilities of a list, item after item given those above it, as the journal keeps them."""
    return chances.astype(_CHANCE).tobytes()


def unpack_chances(data: bytes | None) -> tuple[float, ...] | None:
    """Return what `pack_chances` packed; None: nothing.

    >>> unpack_chances(pack_chances(np.array([0.5, 0.25])))
    (0.5, 0.25)
    """
    return None if data is None else tuple(np.frombuffer(data, _CHANCE).tolist())


def settle_rounding(cross: npt.NDArray[np.float64]) -> bool:
    """Bring probabilities that only rounding put outside back to 0 or 1, in place; return whether they are sound.

    >>> cross = np.array([0.5, 1.0000000000000002])
    >>> settle_rounding(cross), cross.tolist(), settle_rounding(np.array([np.nan, 0.5]))
    (True, [0.5, 1.0], False)
    """
    chances = cross.tolist()
    least, most = min(chances), max(chances)
    if not (least >= -_ROUNDING and most <= 1.0 + _ROUNDING and math.isfinite(sum(chances))):
        return False
    if least < 0.0 or most > 1.0:
        np.clip(cross, 0.0, 1.0, out=cross)
    return True


@functools.lru_cache(100)
def _cross_head(sizes: tuple[int, ...]) -> bytes:
    """Return what stands before the probabilities of a cross."""
    return np.array([len(sizes), *sizes], _CELL).tobytes()


def _read_cross(data: bytes) -> tuple[list[int], npt.NDArray[np.floating]]:
    factors = int.from_bytes(data[: _CELL.itemsize], "little")
    sizes = np.frombuffer(data, _CELL, factors, offset=_CELL.itemsize)
    return sizes.tolist(), np.frombuffer(data, _CHANCE, offset=(1 + factors) * _CELL.itemsize)


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
    result = np.zeros((len(packed), levels))
    known = np.array([data is not None for data in packed], bool)
    usual = [
        index
        for index, data in enumerate(packed)
        if data is not None and len(data) == size and data[: len(head)] == head
    ]
    if usual:
        joined = np.frombuffer(b"".join([packed[index] or b"" for index in usual]), np.uint8).reshape(len(usual), size)
        result[usual] = np.ascontiguousarray(joined[:, len(head) :]).view(_CHANCE)
    if len(usual) < np.count_nonzero(known):
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for index in set(np.flatnonzero(known).tolist()) - set(usual):
            before, chances = _read_cross(packed[index] or b"")
            for first, part in zip(starts, np.split(chances, np.cumsum(before)[:-1]), strict=False):
                result[index, first : first + len(part)] = part
            result[index, starts[len(before) : -1]] = 1.0
    return result, known
