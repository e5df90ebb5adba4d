"""Names that people give to experiments, rows, columns, keys and sources. Plain checks: the client makes them too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankone.errors import InputError
from rankone.specs import whole_number

MAX_NAME = 256  # characters of a name, a label, an idempotency key or a source
MAX_LEVELS = 10_000  # rows, and columns


def checked_name(value: Any, what: str) -> str:
    """Refuse names that are empty, too long or not text."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        shown = value if not isinstance(value, str) or len(value) <= MAX_NAME else f"{len(value)} characters"
        raise InputError(
            f"{what} as printable text of 1 to {MAX_NAME} characters", shown, f"give a shorter or plainer {what}"
        )
    return value


def checked_levels(values: Any, side: str) -> tuple[str, ...]:
    """Refuse rows or columns that are not a list of different names; a number means that many numbered levels."""
    if hasattr(values, "__index__") and not isinstance(values, bool):
        values = [f"{side} {number + 1}" for number in range(whole_number(f"{side}s", values, most=MAX_LEVELS))]
    if hasattr(values, "tolist"):  # a column of a frame, an array of names
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f"{side}s as a list of names", values, f"pass {side}s=['{side} A', '{side} B']")
    if not 1 <= len(values) <= MAX_LEVELS:
        raise InputError(f"1 to {MAX_LEVELS} {side}s", len(values), "name as many")
    names = tuple(checked_name(value, f"{side} name") for value in values)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{side}s with different names", f"'{twice}' twice", "name each once")
    return names
