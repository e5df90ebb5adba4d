"""What somebody says a product of factors is, checked: expected - got - do this."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import check_combinations
from rankone.notebook import index_names
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.product_world import SCALES, Scale
from rankone.specs import is_number, number_in, one_of

Names = Mapping[str, Sequence[str]]


def checked_scale(scale: Any, base: Any) -> tuple[Scale, float]:
    """Return how levels make a click rate, and the rate without any effect."""
    one_of("scale", scale, SCALES)
    if scale == "product":
        if base is not None:
            raise InputError(
                "no base where probabilities are multiplied", base, "leave it out, or say scale='additive'"
            )
        return scale, 1.0
    return scale, number_in("base", base, "(0, 1)", example=0.02)


def checked_parts(factors: Any, scale: Scale) -> dict[str, Floats]:
    """Return for each factor the probabilities of its levels, or their effects."""
    example = "try {'headline': [0.9, 0.5], 'image': [0.8, 0.3]}"
    if not isinstance(factors, Mapping) or not factors:
        raise InputError("factors by name, each with its probabilities", factors, example)
    result = {}
    for name, values in factors.items():
        if not isinstance(name, str) or not name:
            raise InputError("names of factors as texts", name, example)
        if scale == "product":
            result[name] = probabilities(values, f"the factor {name}")
        else:
            result[name] = np.array(values, np.float64)
            if result[name].ndim != 1 or not len(result[name]) or not np.isfinite(result[name]).all():
                raise InputError(f"effects of {name} as a list of numbers", values, "try [0.0, 0.01]")
    check_combinations([len(values) for values in result.values()])
    return result


def names_of_levels(
    given: Mapping[str, Any], names: Names | None, factors: Mapping[str, Floats]
) -> dict[str, list[str]]:
    """Return for each factor the names of its levels: as said, as the index of a column has them, or by number."""
    names = names or {}
    unknown = [name for name in names if name not in factors]
    if unknown:
        raise InputError(f"level_names of the factors {', '.join(factors)}", f"'{unknown[0]}'", "name them as there")
    result = {}
    for factor, values in factors.items():
        own = names.get(factor, index_names(given[factor]))
        levels = [f"{factor} {place + 1}" for place in range(len(values))] if own is None else list(own)
        if not all(isinstance(level, str) for level in levels) or len(levels) != len(values):
            raise InputError(f"{len(values)} names of levels of {factor}", own, "leave them out, or name every one")
        check_distinct(f"levels of {factor}", levels)
        result[factor] = levels
    return result


Tables = dict[tuple[int, int], Floats]
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
    result: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for entry in interactions:
        if not isinstance(entry, (list, tuple)) or len(entry) != 5:
            raise InputError(
                "interactions of two factors, two levels and a number", entry, "try ['a', 'b', 'A', 'B', 1.3]"
            )
        result.setdefault((entry[0], entry[1]), {})[entry[2], entry[3]] = entry[4]
    return result


def shared_parts(interactions: Mapping[Any, Any], levels: Levels, scale: str) -> Tables:
    """Return for each two factors the table of what their levels have together."""
    none = 1.0 if scale == "product" else 0.0
    result: Tables = {}
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
            table = result.setdefault((one, other), np.full((sizes[one], sizes[other]), none))
            table[first, second] = part
    return result


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


def probabilities(values: Any, what: str, above_zero: bool = False) -> Floats:
    """Return probabilities as an array that cannot be changed, or say which of them is none."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} as a list of numbers", values, f"try {what}=[0.9, 0.5]") from None
    if vector.ndim != 1 or len(vector) == 0:
        raise InputError(f"{what} as a list of at least one number", f"shape {vector.shape}", f"try {what}=[0.9, 0.5]")
    wrong = ~((vector >= 0.0) & (vector <= 1.0)) | (above_zero & (vector == 0.0))  # written so that NaN is wrong too
    if wrong.any():
        index = int(np.argmax(wrong))
        zero = above_zero and vector[index] == 0.0
        do = "leave out what nobody ever sees" if zero else "divide counts by their totals first"
        allowed = "(0, 1]" if above_zero else "[0, 1]"
        raise InputError(f"probabilities in {allowed} in {what}", f"{vector[index]} at index {index}", do)
    vector.flags.writeable = False
    return vector


def level_names(names: Sequence[str] | None, length: int, what: str) -> list[str]:
    """Return the names of levels or items, numbered where nobody named them."""
    if names is None:
        return [f"{what} {index + 1}" for index in range(length)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what}_names as a list of texts", names, f"try {what}_names=['a', 'b']")
    result = list(names)
    for name in result:
        if not isinstance(name, str):
            raise InputError(f"{what}_names as texts", name, f"try {what}_names=['a', 'b']")
    if len(result) != length:
        raise InputError(f"{length} {what}_names, one each", len(result), f"leave {what}_names out, or name every one")
    check_distinct(f"{what}_names", result)
    return result


def checked_name(name: Any, otherwise: Callable[[], str]) -> str:
    """Return the name of a problem, or what it is called without one."""
    if not isinstance(name, str | None):
        raise InputError("the name as a text", name, "try name='shoes'")
    return otherwise() if name is None else name


def check_distinct(what: str, names: list[str]) -> None:
    """Refuse names of which two are the same."""
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise InputError(f"distinct {what}", f"'{twice}' more than once", "give each its own name")
