"""What somebody may wish to plan: sizes, rates and aims, and what is wrong with them in words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankone.errors import InputError
from rankone.evidence.steering import AIMS
from rankone.kernels.decision import check_combinations
from rankone.specs import amount, number_in, one_of, whole_number

_MOST_LEVELS = 256


def planned_factors(rows: Any, cols: Any, factors: Any) -> dict[str, int]:
    """Return how many levels each factor has, by its name, whichever way they were given.

    >>> planned_factors(4, 5, None), planned_factors(None, None, {"headline": 4, "button": ["buy", "try"]})
    ({'row': 4, 'col': 5}, {'headline': 4, 'button': 2})
    """
    example = "try factors={'headline': 4, 'image': 5, 'button': 3}"
    if factors is None:
        if rows is None or cols is None:
            got = "none" if rows is cols else f"{'rows' if cols is None else 'cols'} only"
            raise InputError("rows and cols, or factors", got, example)
        return {"row": whole_number("rows", rows), "col": whole_number("cols", cols)}
    if rows is not None or cols is not None:
        raise InputError("rows and cols, or factors", "both", "leave out rows and cols: they are two factors")
    if not isinstance(factors, Mapping) or not factors or not all(isinstance(name, str) and name for name in factors):
        raise InputError("factors by name, each with the number of its levels", factors, example)
    result = {}
    for name, levels in factors.items():
        named = isinstance(levels, Sequence) and not isinstance(levels, str)
        result[name] = whole_number(f"levels of '{name}'", len(levels) if named else levels)
    check_combinations(list(result.values()))
    return result


def combinations_text(factors: Mapping[str, int]) -> str:
    """Return the sizes in words.

    >>> combinations_text({"row": 4, "col": 5}), combinations_text({"a": 4, "b": 5, "c": 3})
    ('4 x 5 pairs', '4 x 5 x 3 = 60 combinations')
    """
    sizes = " x ".join(map(str, factors.values()))
    if len(factors) == 1:
        return amount(int(sizes), "level")
    return f"{sizes} pairs" if len(factors) == 2 else f"{sizes} = {math.prod(factors.values()):,} combinations"


def check_plan(
    rate: Any,
    lift: Any,
    visitors_a_day: Any,
    aim: Any,
    margin: Any,
    error: Any,
    rows: Any = None,
    cols: Any = None,
    factors: Any = None,
) -> dict[str, int]:
    """Raise what is wrong with the inputs of a plan; return the number of levels of each factor."""
    sizes = planned_factors(rows, cols, factors)
    pair = {1: "level", 2: "pair"}.get(len(sizes), "combination")
    if math.prod(sizes.values()) < 2:
        raise InputError(f"at least two {pair}s", combinations_text(sizes), "there is nothing to find out about one")
    if sum(sizes.values()) > _MOST_LEVELS:
        what = "rows and columns" if factors is None else "levels"
        raise InputError(f"at most {_MOST_LEVELS} {what} together", sum(sizes.values()), "leave out some")
    number_in("rate", rate, "[1e-09, 1]", example=0.03)
    number_in("lift", lift, "[1e-06, 1e+09]", example=0.1)
    number_in("error", error, "[1e-06, 0.5]", example=0.05)
    if rate * (1.0 + lift) > 1.0:
        got = f"{rate:g} * (1 + {lift:g}) = {rate * (1.0 + lift):g}"
        what = f"rate * (1 + lift), the best {pair}'s click rate, of at most 1"
        raise InputError(what, got, "ask for a smaller lift")
    if visitors_a_day is not None:
        number_in("visitors_a_day", visitors_a_day, "[0.001, 1e+12]", example=5_000)
    if aim is not None:
        one_of("aim", aim, AIMS)
    number_in("margin", margin, "[0, 1]", example=0.05)
    return sizes
