"""What somebody says a product of factors is, checked."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.errors import InputError
from rankone.kernels.decision import check_combinations
from rankone.notebook import index_names
from rankone.numerics.arrays import Floats, Ints
from rankone.problems.product_world import SCALES, Scale
from rankone.specs import distinct, is_number, number_in, one_of

Given = Sequence[float] | Floats  # numbers, one a level or item
Names = Sequence[str] | None  # of levels or items; None: they are numbered
Levels = Mapping[str, Sequence[str]]  # names of the levels of each factor


def checked_scale(scale: Any, base: Any) -> tuple[Scale, float]:
    """Return how levels make a click rate, and the rate without any effect."""
    if one_of("scale", scale, SCALES) != "product":
        return scale, number_in("base", base, "(0, 1)", example=0.02)
    if base is not None:
        raise InputError("no base where probabilities are multiplied", base, "leave it out, or say scale='additive'")
    return scale, 1.0


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
    given: Mapping[str, Any], names: Mapping[str, Names] | None, factors: Mapping[str, Floats]
) -> dict[str, list[str]]:
    """Return for each factor the names of its levels: as said, as the index of a column has them, or by number."""
    names = names or {}
    for name in names:
        one_of("factor in level_names", name, factors)
    return {
        factor: level_names(names.get(factor), len(values), factor, given[factor]) for factor, values in factors.items()
    }


def level_names(names: Any, length: int, what: str, given: Any = None, axis: str = "index") -> list[str]:
    """Return the names of levels or items: as said, as the index of what was given has them, or by number.

    >>> level_names(None, 2, "item")
    ['item 1', 'item 2']
    """
    names = index_names(given, axis) if names is None else names
    if names is None:
        return [f"{what} {index + 1}" for index in range(length)]
    result = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else []
    if len(result) != length or not all(isinstance(name, str) for name in result):
        raise InputError(f"{length} names of {what} as a list of texts", names, "leave them out, or name every one")
    distinct(f"names of {what}", result)
    return result


def _indices(factor: Any, level: Any, levels: Levels) -> tuple[int, int]:
    own = levels[one_of("factor", factor, levels)]
    return list(levels).index(factor), list(own).index(one_of(f"level of {factor}", level, own))


def by_factors(interactions: Any) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    """Return interactions by two factors and two levels; files have them as lists of these four names and a number."""
    if not isinstance(interactions, (list, tuple)):
        return dict(interactions or {})
    result: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for entry in interactions:
        if not isinstance(entry, (list, tuple)) or len(entry) != 5:
            do = "try ['a', 'b', 'A', 'B', 1.3]"
            raise InputError("interactions of two factors, two levels and a number", entry, do)
        result.setdefault((entry[0], entry[1]), {})[entry[2], entry[3]] = entry[4]
    return result


def shared_parts(interactions: Mapping[Any, Any], levels: Levels, scale: str) -> dict[tuple[int, int], Floats]:
    """Return for each two factors the table of what their levels have together."""
    none = 1.0 if scale == "product" else 0.0
    result: dict[tuple[int, int], Floats] = {}
    seen: set[tuple[int, int, int, int]] = set()
    for pair, parts in interactions.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or pair[0] == pair[1]:
            do = "try {('headline', 'image'): {('A', '2'): 1.3}}"
            raise InputError("interactions by the names of two factors", pair, do)
        for names, part in parts.items():
            (one, first), (other, second) = (_indices(pair[side], names[side], levels) for side in (0, 1))
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
            index, rule_level = _indices(factor, level, levels)
            rule[index] = rule_level
    return rules


def probabilities(values: Any, what: str, above_zero: bool = False, dimensions: int = 1) -> Floats:
    """Return probabilities as an array that cannot be changed, or say which of them is none."""
    shape, example = ("a list", "[0.9, 0.5]") if dimensions == 1 else ("a table", "[[0.3, 0.1], [0.1, 0.4]]")
    try:
        result = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} as {shape} of numbers", values, f"try {example}") from None
    if result.ndim != dimensions or not result.size:
        raise InputError(f"{what} as {shape} of at least one number", f"shape {result.shape}", f"try {example}")
    wrong = ~((result >= 0.0) & (result <= 1.0)) | (above_zero & (result == 0.0))  # written so that NaN is wrong too
    for index in np.argwhere(wrong)[:1].tolist():
        value, allowed = result[tuple(index)], "(0, 1]" if above_zero else "[0, 1]"
        at = f"at index {index[0]}" if dimensions == 1 else f"for 'row {index[0] + 1}' with 'col {index[1] + 1}'"
        do = "leave out what nobody ever sees" if above_zero and value == 0.0 else "divide counts by their totals first"
        raise InputError(f"probabilities in {allowed} in {what}", f"{value} {at}", do)
    result.flags.writeable = False
    return result


def checked_shares(shares: Sequence[float] | None, of: str, count: int) -> Floats:
    """Return how much of the traffic each segment or user is, not yet divided by their sum; None: all the same."""
    result = np.array([1.0] * count if shares is None else shares, np.float64)
    if result.shape != (count,) or not ((result > 0.0) & np.isfinite(result)).all():
        raise InputError(f"a share above 0 for each {of}", f"{result.size} shares", f"name {count} shares")
    return result
