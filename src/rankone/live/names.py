"""Names that people give to experiments, factors, levels, keys and sources. Plain checks: the client makes them too."""

from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from typing import Any

from rankone.errors import InputError
from rankone.specs import whole_number

MAX_NAME = 256  # characters of a name, a label, an idempotency key or a source
MAX_LEVELS = 10_000  # of a factor
MAX_FACTORS = 20


def checked_name(value: Any, what: str) -> str:
    """Refuse names that are empty, too long or not text."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        shown = value if not isinstance(value, str) or 0 < len(value) <= MAX_NAME else f"{len(value)} characters"
        do = "give it a name" if value == "" else f"give a shorter or plainer {what}"
        if isinstance(value, (int, float)):
            do = f"pass it as text: '{value}'"
        raise InputError(f"{what} as printable text of 1 to {MAX_NAME} characters", shown, do)
    return value


def plain_list(values: Any) -> Any:
    """Return a column of a frame, an array or a set as a list, all else as it is."""
    if hasattr(values, "tolist"):
        return values.tolist()
    return sorted(values, key=str) if isinstance(values, set | frozenset) else values


def checked_levels(values: Any, factor: str) -> tuple[str, ...]:
    """Refuse levels of a factor that are not a list of different names; a number means that many numbered levels."""
    what = f"levels of '{factor}'"
    if hasattr(values, "__index__") and not isinstance(values, bool):
        values = [f"{factor} {number + 1}" for number in range(whole_number(what, values, most=MAX_LEVELS))]
    values = plain_list(values)
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f"{what} as a list of names", values, f"pass '{factor}': ['A', 'B']")
    if not 1 <= len(values) <= MAX_LEVELS:
        raise InputError(f"1 to {MAX_LEVELS:,} {what}", len(values), _few_or_many(values))
    names = tuple(checked_name(value, f"name of a level of '{factor}'") for value in values)
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{what} with different names", f"'{twice}' twice", "name each once")
    return names


def checked_factors(factors: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return factors with the names of their levels.

    >>> checked_factors({"headline": ["A", "B"], "image": 3})
    (('headline', ('A', 'B')), ('image', ('image 1', 'image 2', 'image 3')))
    """
    if not isinstance(factors, Mapping):
        do = "pass factors={'headline': ['A', 'B'], 'image': ['1', '2'], 'button': ['x', 'y']}"
        raise InputError("factors as a dictionary of names and their levels", factors, do)
    if not 1 <= len(factors) <= MAX_FACTORS:
        raise InputError(f"1 to {MAX_FACTORS} factors", len(factors), _few_or_many(factors))
    return tuple((checked_name(name, "factor name"), checked_levels(levels, name)) for name, levels in factors.items())


def factors_of_pair(rows: Any, cols: Any, factors: Any) -> Any:
    """Return `factors`, or rows and columns as the factors "row" and "col"; None: neither is given.

    >>> factors_of_pair(["A", "B"], 2, None)
    {'row': ['A', 'B'], 'col': 2}
    """
    if rows is None and cols is None:
        return factors
    if factors is not None:
        raise InputError("rows and cols, or factors", "both", "leave out rows and cols: they are two factors")
    if rows is None or cols is None:
        got = "cols alone" if rows is None else "rows alone"
        raise InputError("rows and cols, or factors", got, "pass both, or factors={'headline': ['A', 'B']}")
    return {"row": rows, "col": cols}


def _few_or_many(given: Sized) -> str:
    return "leave some out" if len(given) else "name at least one"


def checked_combination(levels: Any) -> dict[str, str]:
    """Return levels by factor; None: none is named.

    >>> checked_combination({"image": "2"}), checked_combination(None)
    ({'image': '2'}, {})
    """
    if levels is not None and not isinstance(levels, Mapping):
        do = "pass levels={'headline': 'A', 'image': '1'}"
        raise InputError("levels as a dictionary of factors and names", levels, do)
    return {checked_name(factor, "factor name"): name for factor, name in (levels or {}).items()}


def levels_in_order(given: Sequence[str] | Mapping[str, str], levels: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of a control's levels in the order of the factors; refuse what is none of the combinations."""
    if len(given) != len(levels) or (isinstance(given, Mapping) and set(given) != set(levels)):
        expected = f"a control with a level of each factor: {', '.join(levels)}"
        raise InputError(expected, ", ".join(map(str, given)) or "none", "name one level of each")
    names = tuple(given[factor] for factor in levels) if isinstance(given, Mapping) else tuple(given)
    for name, (factor, known) in zip(names, levels.items(), strict=True):
        if name not in known:
            expected = f"a control whose level of '{factor}' is one of {', '.join(known)}"
            raise InputError(expected, name, "name a combination of the experiment")
    return names
