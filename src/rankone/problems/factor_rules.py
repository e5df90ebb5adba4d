"""Interactions and forbidden combinations, as people write them: by the names of factors and levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError
from rankone.specs import is_number

Ints = npt.NDArray[np.int64]
Tables = dict[tuple[int, int], npt.NDArray[np.float64]]
Levels = Mapping[str, Sequence[str]]


def place_of(factor: Any, level: Any, levels: Levels) -> tuple[int, int]:
    """Return the places of a factor and of its level.

    >>> place_of("image", "2", {"headline": ["A", "B"], "image": ["1", "2"]})
    (1, 1)
    """
    if factor not in levels:
        raise InputError(f"one of the factors {', '.join(levels)}", f"'{factor}'", "name it as there")
    if level not in levels[factor]:
        raise InputError(f"a level of {factor}: {', '.join(levels[factor][:8])}", f"'{level}'", "name it as there")
    return list(levels).index(factor), list(levels[factor]).index(level)


def by_factors(interactions: Any) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    """Return interactions by two factors and two levels; files have them as lists of these four names and a number."""
    if not isinstance(interactions, (list, tuple)):
        return dict(interactions or {})
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for entry in interactions:
        if not isinstance(entry, (list, tuple)) or len(entry) != 5:
            raise InputError(
                "interactions of two factors, two levels and a number", entry, "try ['a', 'b', 'A', 'B', 1.3]"
            )
        found.setdefault((entry[0], entry[1]), {})[entry[2], entry[3]] = entry[4]
    return found


def shared_parts(interactions: Mapping[Any, Any], levels: Levels, scale: str) -> Tables:
    """Return for each two factors the table of what their levels have together."""
    none = 1.0 if scale == "product" else 0.0
    found: Tables = {}
    seen: set[tuple[int, int, int, int]] = set()
    for pair, parts in interactions.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or pair[0] == pair[1]:
            do = "try {('headline', 'image'): {('A', '2'): 1.3}}"
            raise InputError("interactions by the names of two factors", pair, do)
        for names, part in parts.items():
            (one, first), (other, second) = (place_of(pair[side], names[side], levels) for side in (0, 1))
            together = " and ".join(names)
            if not is_number(part) or not math.isfinite(part) or (scale == "product" and part < 0.0):
                least = " of at least 0" if scale == "product" else ""
                raise InputError(f"a number{least} for {together} together", part, "try 1.3")
            if one > other:
                one, first, other, second = other, second, one, first
            if (one, first, other, second) in seen:
                raise InputError(f"one number for {together} together", f"another one, {part:g}", "name them once")
            seen.add((one, first, other, second))
            sizes = [len(each) for each in levels.values()]
            table = found.setdefault((one, other), np.full((sizes[one], sizes[other]), none))
            table[first, second] = part
    return found


def forbidden_rules(forbidden: Any, levels: Levels) -> Ints:
    """Return rules as policies take them: one level per factor, -1 where any will do.

    >>> forbidden_rules([{"headline": "A", "button": "C"}], {"headline": ["A", "B"], "button": ["C", "D"]}).tolist()
    [[0, 0]]
    """
    if isinstance(forbidden, (str, Mapping)) or not isinstance(forbidden, Sequence):
        raise InputError("forbidden as a list of rules", forbidden, "try [{'headline': 'A', 'button': 'C'}]")
    rules = np.full((len(forbidden), len(levels)), -1, np.int64)
    for rule, named in zip(rules, forbidden, strict=True):
        if not isinstance(named, Mapping) or not named:
            raise InputError("levels by the names of factors in a rule", named, "try {'headline': 'A', 'button': 'C'}")
        for factor, level in named.items():
            factor_place, level_place = place_of(factor, level, levels)
            rule[factor_place] = level_place
    return rules
