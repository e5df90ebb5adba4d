"""The needle in a haystack (paper, section 5.1): one attractive row and one examined column stand out.

The rule: ``u(i) = p_U + gap_U * [i is the first]`` and ``v(j) = p_V + gap_V * [j is the first]``, with p in [0, 1] and
gap in (0, 1 - p]. With p = 0 it is the extreme needle of the paper's introduction: a single pair is ever clicked.
"""

from __future__ import annotations

import numpy as np

from rankone.deprecation import old_positions
from rankone.errors import InputError
from rankone.problems.rank_one import Vector
from rankone.problems.registry import family
from rankone.specs import Pair

_ROUNDING = 1e-12  # 0.9 + 0.1 may come out a little above 1


def _factors(sizes: list[int], p: float | Pair, gap: float | Pair) -> list[Vector]:
    """Draw a needle of any number of factors: its first levels."""
    each, more = (value if isinstance(value, (tuple, list)) else [value] * len(sizes) for value in (p, gap))
    if len(each) != len(sizes) or len(more) != len(sizes):
        raise InputError(f"one p and one gap, or {len(sizes)}, one a factor", f"p={p}, gap={gap}", "try p=0.25")
    return [_level(*drawn) for drawn in zip(sizes, each, more, strict=True)]


@old_positions("p", "gap")
@family("needle", factors=_factors)
def needle(n_rows: int, n_cols: int, *, p: float | Pair = 0.25, gap: float | Pair = 0.5) -> tuple[Vector, Vector]:
    """All levels have probability p, but the first of each factor has p + gap.

    Args:
        n_rows: number of rows, K; the needle is the pair (0, 0).
        n_cols: number of columns, L.
        p: probability of all levels but the needle's; a pair (rows, columns) where they differ.
        gap: what the needle's row and column have more; one number or a pair.

    >>> problem = needle(3, 2, p=0.25, gap=(0.5, 0.25))
    >>> problem.rows.tolist(), problem.cols.tolist()
    ([0.75, 0.25, 0.25], [0.5, 0.25])
    """
    (p_rows, p_cols), (gap_rows, gap_cols) = _pair(p, "p"), _pair(gap, "gap")
    return _level(n_rows, p_rows, gap_rows), _level(n_cols, p_cols, gap_cols)


def _level(size: int, p: float, gap: float) -> Vector:
    if not 0.0 <= p <= 1.0:  # written so that NaN is wrong too
        raise InputError("p in [0, 1]", p, "try p=0.25")
    if not 0.0 < gap <= 1.0 - p + _ROUNDING:
        raise InputError(f"a gap in (0, {1.0 - p:g}], as p is {p:g}", gap, "pass a gap that keeps p + gap at most 1")
    values = np.full(size, p)
    values[0] = min(1.0, p + gap)
    return values


def _pair(value: float | Pair, what: str) -> Pair:
    try:
        if isinstance(value, (tuple, list)):
            rows, cols = value
            return float(rows), float(cols)
        return float(value), float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what} as a number or a pair (rows, columns)", value, f"try {what}=0.25") from None
