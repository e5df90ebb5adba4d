"""Names that people give to experiments, rows, columns, keys and sources. Plain checks: the client makes them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from rankone.errors import InputError
from rankone.specs import whole_number

MAX_NAME = 256  # characters of a name, a label, an idempotency key or a source
MAX_LEVELS = 10_000  # of a factor
MAX_FACTORS = 20
PAIR = ("row", "col")  # the names of two factors that are given as rows and columns


def checked_name(value: Any, what: str) -> str:
    """Refuse names that are empty, too long or not text."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        shown = value if not isinstance(value, str) or 0 < len(value) <= MAX_NAME else f"{len(value)} characters"
        do = "give it a name" if value == "" else f"give a shorter or plainer {what}"
        raise InputError(f"{what} as printable text of 1 to {MAX_NAME} characters", shown, do)
    return value


def checked_levels(values: Any, side: str) -> tuple[str, ...]:
    """Refuse levels of a factor that are not a list of different names; a number means that many numbered levels."""
    every = called_all(side).replace("columns", "cols")
    if hasattr(values, "__index__") and not isinstance(values, bool):
        values = [f"{side} {number + 1}" for number in range(whole_number(every, values, most=MAX_LEVELS))]
    if hasattr(values, "tolist"):  # a column of a frame, an array of names
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Sequence):
        do = f"pass {every}=['{side} A', '{side} B']" if side in PAIR else f"pass '{side}': ['A', 'B']"
        raise InputError(f"{every} as a list of names", values, do)
    if not 1 <= len(values) <= MAX_LEVELS:
        raise InputError(f"1 to {MAX_LEVELS:,} {every}", len(values), _few_or_many(values))
    what = f"{side} name" if side in PAIR else f"name of a {called(side)}"
    names = tuple(checked_name(value, what) for value in values)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{every} with different names", f"'{twice}' twice", "name each once")
    return names


def checked_factors(rows: Any, cols: Any, factors: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and other factors with the names of their levels; None: not given.

    >>> checked_factors(None, None, {"headline": ["A", "B"], "image": 3})[2]
    (('headline', ('A', 'B')), ('image', ('image 1', 'image 2', 'image 3')))
    """
    if factors is None:
        given = [None if side is None else checked_levels(side, name) for side, name in ((rows, "row"), (cols, "col"))]
        return given[0], given[1], None
    if rows is not None or cols is not None:
        raise InputError("rows and cols, or factors", "both", "leave out rows and cols: they are two factors")
    if not isinstance(factors, Mapping):
        do = "pass factors={'headline': ['A', 'B'], 'image': ['1', '2'], 'button': ['x', 'y']}"
        raise InputError("factors as a dictionary of names and their levels", factors, do)
    if not 1 <= len(factors) <= MAX_FACTORS:
        raise InputError(f"1 to {MAX_FACTORS} factors", len(factors), _few_or_many(factors))
    named = tuple((checked_name(name, "factor name"), checked_levels(levels, name)) for name, levels in factors.items())
    if tuple(factors) == PAIR:
        return named[0][1], named[1][1], None
    return None, None, named


def _few_or_many(given: Sized) -> str:
    return "leave some out" if len(given) else "name at least one"


def named_levels(row: Any, col: Any, levels: Any) -> dict[str, str]:
    """Return levels by factor, given as a row and a column or by the names of factors.

    >>> named_levels("A", None, None), named_levels(None, None, {"image": "2"})
    ({'row': 'A'}, {'image': '2'})
    """
    if levels is not None and not isinstance(levels, Mapping):
        do = "pass levels={'headline': 'A', 'image': '1'}"
        raise InputError("levels as a dictionary of factors and names", levels, do)
    given = {factor: name for factor, name in zip(PAIR, (row, col), strict=True) if name is not None}
    for factor in given:
        if factor in (levels or {}):
            raise InputError(f"one {called(factor)}", f"{factor}= and levels={{'{factor}': ...}}", "name it once")
    return given | {checked_name(factor, "factor name"): name for factor, name in (levels or {}).items()}


def called(factor: str) -> str:
    """Return what one level of a factor is called in a sentence.

    >>> called("row"), called("col"), called("image")
    ('row', 'column', "level of 'image'")
    """
    return {"row": "row", "col": "column"}.get(factor, f"level of '{factor}'")


def level_text(factor: str, name: str) -> str:
    """Return one level by its name, as sentences have it.

    >>> level_text("row", "A"), level_text("col", "1"), level_text("image", "2")
    ("row 'A'", "column '1'", "level '2' of 'image'")
    """
    return f"{called(factor)} '{name}'" if factor in PAIR else f"level '{name}' of '{factor}'"


def called_all(factor: str) -> str:
    """Return what the levels of a factor are called.

    >>> called_all("col"), called_all("image")
    ('columns', "levels of 'image'")
    """
    return {"row": "rows", "col": "columns"}.get(factor, f"levels of '{factor}'")


def combination_text(levels: Mapping[str, str]) -> str:
    """Return a combination as sentences name it, by factor.

    >>> combination_text({"row": "A", "col": "1"}), combination_text({"headline": "A", "image": "1"})
    ("'A' with '1'", "headline 'A', image '1'")
    """
    if tuple(levels) == PAIR:
        return " with ".join(f"'{name}'" for name in levels.values())
    return ", ".join(f"{factor} '{name}'" for factor, name in levels.items())


def factor_text(factor: str) -> str:
    """Return the name of a factor; that of the columns in full."""
    return "column" if factor == "col" else factor
