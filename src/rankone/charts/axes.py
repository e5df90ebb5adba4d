"""Axes of charts: numbers in few characters, and round lines where they are logarithmic."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

# Each tick by itself, "0 500 1k": Vega's own labels would share a prefix, "0k 0.5k 1k". Empty ones stay empty.
# Below 1 there are no thousandths: 0.5, not 500m.
_SHORT = "datum.label == '' ? '' : format(datum.value, abs(datum.value) < 1 ? '~g' : '~s')"
_MOST_LINES = 18  # across a logarithmic axis, before powers of ten alone are drawn


def short_axis(**options: Any) -> alt.Axis:
    """Return an axis on which 500,000 is written 500k, and 0.5 as it is."""
    return alt.Axis(format="~s", labelExpr=_SHORT, **options)


def round_numbers(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, from the last that is not above `low` to the first not below `high`.

    >>> round_numbers(3, 40)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)  # one more: log10 may round
    rounds = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    bottom, top = max(value for value in rounds if value <= low), min(value for value in rounds if value >= high)
    return [value for value in rounds if bottom <= value <= top]


def log_lines(rounds: list[float], most: int = _MOST_LINES) -> list[float]:
    """Return the round numbers at which a logarithmic axis has lines: powers of ten alone where they are many."""
    if len(rounds) <= most:
        return rounds
    return [value for value in rounds if math.log10(value).is_integer()]
