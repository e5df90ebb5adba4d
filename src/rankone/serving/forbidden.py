"""Levels that are never shown together. A rule has a level of each factor, -1 for any; of new factors, any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankone.serving.factors import Factors, Ints

Rules = Sequence[Sequence[int]]


def living_rules(forbidden: Rules, factors: Factors) -> Ints:
    """Return rules as a policy counts levels, among the living ones; those that name a retired level say nothing.

    >>> factors = Factors.new({"headline": ["A", "B"], "image": ["1", "2"]})
    >>> factors["image"].live[0] = False
    >>> living_rules([[0, 1], [1, 0]], factors).tolist()
    [[0, 0]]
    """
    found = []
    for rule in forbidden:
        places = []
        for live, level in zip(factors.living(), rule, strict=False):
            at = np.flatnonzero(live == level)
            places.append(-1 if level < 0 else int(at[0]) if len(at) else None)
        if None not in places:
            found.append([*places, *[-1] * (len(factors) - len(places))])
    return np.array(found, np.int64).reshape(-1, len(factors))


def whole_rules(forbidden: Rules, factors: Factors) -> list[list[int]]:
    """Return rules with a level of each factor there is, -1 for any; levels keep their numbers.

    >>> whole_rules([[0, 1]], Factors.new({"headline": ["A", "B"], "image": ["1", "2"], "button": ["x"]}))
    [[0, 1, -1]]
    """
    return [[*rule, *[-1] * (len(factors) - len(rule))] for rule in forbidden]


def names_of(forbidden: Rules, factors: Factors) -> list[dict[str, str]]:
    """Return for each rule the names of the levels that are never shown together, by factor."""
    each = [zip(factors.items(), rule, strict=False) for rule in forbidden]
    return [{factor: levels.names[level] for (factor, levels), level in rule if level >= 0} for rule in each]


def forbids(rules: Ints, places: Sequence[int]) -> bool:
    """Return whether a rule forbids a combination.

    >>> forbids(np.array([[0, -1, 2]]), [0, 5, 2]), forbids(np.array([[0, -1, 2]]), [1, 5, 2])
    (True, False)
    """
    return bool(((rules < 0) | (rules == np.array(places))).all(axis=1).any())
