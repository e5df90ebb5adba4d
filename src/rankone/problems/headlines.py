"""Problems like real tests of headlines and images: click rates near one percent, effects of a fifth.

The sizes were measured on the Upworthy Research Archive (docs/does-a-click-need-both.md): where tests cross two
elements, the logarithms of click rates vary by 0.19 (standard deviation) between levels of one and by 0.14 between
levels of the other, around rates near 1.3 %.
"""

from __future__ import annotations

import math

import numpy as np

from rankone.errors import InputError
from rankone.numerics.seeds import generator
from rankone.problems.rank_one import Vector
from rankone.problems.registry import family
from rankone.specs import Pair, is_number, whole_number


def _factors(sizes: list[int], seed: int, rate: float, spread: float | Pair) -> list[Vector]:
    """Draw any number of factors, with the larger spread and the smaller one in turn."""
    seed, each = whole_number("seed", seed, least=0), _checked(rate, spread)
    share = rate ** (1.0 / len(sizes))
    effects = [
        np.exp(each[place % 2] * generator(seed, "headlines", place).standard_normal(size))
        for place, size in enumerate(sizes)
    ]
    drawn = [share * values for values in effects]
    if max(float(values.max()) for values in drawn) > 1.0:  # many factors: each has the same share of the best rate
        best = math.prod(float(values.max()) for values in drawn)
        drawn = [best ** (1.0 / len(sizes)) / values.max() * values for values in effects]
    _refuse_above_one(drawn, rate, spread)
    return drawn


def _checked(rate: float, spread: float | Pair) -> tuple[float, ...]:
    """Return the spreads of two factors."""
    if not is_number(rate) or not 0.0 < rate < 1.0:
        raise InputError("a click rate between 0 and 1", rate, "try rate=0.013")
    try:
        sizes = tuple(float(each) for each in (spread if isinstance(spread, (tuple, list)) else (spread, spread)))
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != 2 or not all(0.0 <= each < math.inf for each in sizes):
        raise InputError("spread as a number of at least 0, or two", spread, "try spread=(0.19, 0.14)")
    return sizes


def _refuse_above_one(drawn: list[Vector], rate: float, spread: float | Pair) -> None:
    if max(float(values.max()) for values in drawn) > 1.0:
        raise InputError("click rates of at most 1", f"rate={rate:g}, spread={spread}", "pass a smaller rate or spread")


@family("headlines", factors=_factors)
def headlines(
    n_rows: int, n_cols: int, *, seed: int = 0, rate: float = 0.013, spread: float | Pair = (0.19, 0.14)
) -> tuple[Vector, Vector]:
    """Click rates near `rate`, log effects of levels normal with standard deviations `spread`, in turn.

    One seed is one problem, everywhere; a larger problem of the same seed begins with the smaller one.

    >>> problem = headlines(4, 4, seed=1)
    >>> problem.name, problem.means.min().round(4).item(), problem.means.max().round(4).item()
    ('headlines:4x4:seed=1', 0.011, 0.017)
    """
    seed, sizes = whole_number("seed", seed, least=0), _checked(rate, spread)
    rows, cols = (
        math.sqrt(rate) * np.exp(size * generator(seed, "headlines", side).standard_normal(number))
        for side, size, number in (("rows", sizes[0], n_rows), ("cols", sizes[1], n_cols))
    )
    _refuse_above_one([rows, cols], rate, spread)
    return rows, cols
