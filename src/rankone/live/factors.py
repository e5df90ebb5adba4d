"""The factors of an experiment, their levels, living and retired, and what is never shown together.

A combination is the number of its level in each factor. Factors and levels are numbered in the order in which they
came, and keep their numbers: what was decided before a factor was added had its first level, number 0. A rule forbids
levels of some factors together: it has a level of each factor, -1 for any; of factors that came later, any.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankone.numerics.arrays import Floats, Ints, Mask, allowed_table

Rules = Sequence[Sequence[int]]
_MOST_RIVALS = 100  # of a combination that are looked at; with more, too little is known anyway


@dataclasses.dataclass
class Levels:
    """The levels of a factor. A level keeps its number for ever; a retired one is never chosen."""

    names: list[str]
    live: list[bool]

    @classmethod
    def new(cls, names: Iterable[str]) -> Levels:
        """Return levels that all live."""
        names = list(names)
        return cls(names, [True] * len(names))

    def numbers(self) -> list[int]:
        """Return the numbers of the living levels: the policy's level p is level ``numbers()[p]`` of the experiment."""
        return [number for number, live in enumerate(self.live) if live]

    def names_living(self) -> list[str]:
        """Return the names of the living levels."""
        return [self.names[number] for number in self.numbers()]


class Factors(dict[str, Levels]):
    """The levels of each factor, by its name, in order."""

    @classmethod
    def new(cls, named: Mapping[str, Sequence[str]]) -> Factors:
        """Return factors whose levels all live.

        >>> Factors.new({"headline": ["A", "B"], "image": ["1"], "button": ["x", "y"]}).sizes
        (2, 1, 2)
        """
        return cls((factor, Levels.new(names)) for factor, names in named.items())

    @classmethod
    def of_note(cls, details: Mapping[str, Any]) -> Factors:
        """Read what `note` wrote."""
        return cls((factor, Levels(names, live)) for factor, names, live in details["factors"])

    def note(self) -> dict[str, Any]:
        """Return them as the journal keeps them."""
        return {"factors": [[factor, levels.names, levels.live] for factor, levels in self.items()]}

    @property
    def each(self) -> list[Levels]:
        """The levels of each factor."""
        return list(self.values())

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each factor, retired ones too."""
        return tuple(len(levels.names) for levels in self.values())

    def living(self) -> list[Ints]:
        """Return the numbers of the living levels of each factor."""
        return [np.array(levels.numbers(), np.int64) for levels in self.values()]

    def with_first(self, known: Sequence[str] | None) -> dict[str, str] | None:
        """Return known names of levels by factor, the first one of factors that came later; None: none is known."""
        first = {factor: levels.names[0] for factor, levels in self.items()}
        return None if known is None else first | dict(zip(self, known, strict=False))

    def named(self, shown: Sequence[int]) -> dict[str, str]:
        """Return the names of a combination, by factor.

        >>> Factors.new({"headline": ["A", "B"], "image": ["1", "2"]}).named([1, 0])
        {'headline': 'B', 'image': '1'}
        """
        return {factor: levels.names[level] for (factor, levels), level in zip(self.items(), shown, strict=True)}


def margins(counts: Ints) -> Ints:
    """Return the sums of each level, factor after factor, of counts of each combination.

    >>> margins(np.array([[1, 2, 0], [3, 4, 0]])).tolist()
    [3, 7, 4, 6, 0]
    """
    return np.concatenate([margin(counts, factor) for factor in range(counts.ndim)])


def margin(counts: Ints, factor: int) -> Ints:
    """Return the sums of each level of one factor."""
    return np.asarray(counts.sum(axis=tuple(other for other in range(counts.ndim) if other != factor)))


def widened(counts: Ints, sizes: tuple[int, ...]) -> Ints:
    """Return counts with room for levels and factors that are new; all that was counted had a new factor's first."""
    before = counts.shape + (1,) * (len(sizes) - counts.ndim)
    result = np.zeros(sizes, np.int64)
    result[tuple(slice(size) for size in before)] = counts.reshape(before)
    return result


def whole_rules(forbidden: Rules, factors: Factors) -> list[list[int]]:
    """Return rules with a level of each factor there is, -1 for any; levels keep their numbers.

    >>> whole_rules([[0, 1]], Factors.new({"headline": ["A", "B"], "image": ["1", "2"], "button": ["x"]}))
    [[0, 1, -1]]
    """
    return [[*rule, *[-1] * (len(factors) - len(rule))] for rule in forbidden]


def living_rules(forbidden: Rules, factors: Factors) -> Ints:
    """Return rules as a policy counts levels, among the living ones; those that name a retired level say nothing.

    >>> factors = Factors.new({"headline": ["A", "B"], "image": ["1", "2"]})
    >>> factors["image"].live[0] = False
    >>> living_rules([[0, 1], [1, 0]], factors).tolist()
    [[0, 0]]
    """
    index_of = [{-1: -1} | {level: at for at, level in enumerate(each.numbers())} for each in factors.values()]
    rules = [
        [index.get(level) for index, level in zip(index_of, rule, strict=True)]
        for rule in whole_rules(forbidden, factors)
    ]
    return np.array([rule for rule in rules if None not in rule], np.int64).reshape(-1, len(factors))


def rule_names(forbidden: Rules, factors: Factors) -> list[dict[str, str]]:
    """Return for each rule the names of the levels that are never shown together, by factor."""
    each = [zip(factors.items(), rule, strict=False) for rule in forbidden]
    return [{factor: levels.names[level] for (factor, levels), level in rule if level >= 0} for rule in each]


class Allowed:
    """Which combinations of living levels may be shown; only the factors that rules name need a table."""

    def __init__(self, rules: Ints, sizes: Sequence[int]) -> None:
        self.named = [factor for factor in range(len(sizes)) if (rules[:, factor] >= 0).any()]
        self._table = allowed_table(rules[:, self.named], [sizes[factor] for factor in self.named])

    def table(self, n_factors: int) -> Mask:
        """Return what may be shown, an axis a factor; those that no rule names have one place for all their levels."""
        free = tuple(factor for factor in range(n_factors) if factor not in self.named)
        return np.expand_dims(self._table, free)

    def allows(self, levels: Sequence[int] | Mapping[int, int]) -> bool:
        """Return whether a combination may be shown, of which the factors that rules name are enough.

        >>> allowed = Allowed(np.array([[0, -1, 2]]), (2, 6, 3))
        >>> allowed.allows([0, 5, 2]), allowed.allows([1, 5, 2])
        (False, True)
        """
        return bool(self._table[tuple(levels[factor] for factor in self.named)])

    def mean(self, effects: Sequence[Floats]) -> float:
        """Return the average, over all combinations that may be shown, of the product of the effects of their levels.

        >>> effects = [np.array([1.0, 2.0]), np.array([1.0, 3.0])]
        >>> Allowed(np.array([[0, 0]]), (2, 2)).mean(effects), Allowed(np.empty((0, 2)), (2, 2)).mean(effects)
        (3.6666666666666665, 3.0)
        """
        free = [float(each.mean()) for factor, each in enumerate(effects) if factor not in self.named]
        return float(np.prod(free) * self._combined(np.multiply, effects)[self._table].mean())

    def without_company(self) -> tuple[int, int] | None:
        """Return a factor and one of its levels that may be shown with nothing; None: all have something."""
        for axis, factor in enumerate(self.named):
            left = np.moveaxis(self._table, axis, 0).reshape(self._table.shape[axis], -1).any(axis=1)
            if not left.all():
                return factor, int(np.argmin(left))
        return None

    def best(self, scores: Sequence[Floats]) -> tuple[int, ...]:
        """Return the combination whose levels have the highest sum of scores, among those that may be shown.

        >>> rows, cols = np.array([2.0, 1.0]), np.array([1.5, 0.0])
        >>> Allowed(np.array([[0, 0]]), (2, 2)).best([rows, cols]), Allowed(np.empty((0, 2)), (2, 2)).best([rows, cols])
        ((1, 0), (0, 0))
        """
        best = [int(np.argmax(each)) for each in scores]
        if self.named:
            sums = np.where(self._table, self._combined(np.add, scores), -np.inf)
            for factor, level in zip(self.named, np.unravel_index(int(np.argmax(sums)), sums.shape), strict=True):
                best[factor] = int(level)
        return tuple(best)

    def rivals(self, best: Sequence[int], beats: Sequence[Mask]) -> list[list[int]] | None:
        """Return the combinations but `best` that nothing allowed is proven to beat by one level.

        `beats` has for each factor, (levels, levels), whether the first is proven better. None: `best` is beaten.
        """
        left = self._table.copy()
        for axis, factor in enumerate(self.named):
            table, remaining = np.moveaxis(self._table, axis, 0), np.moveaxis(left, axis, 0)
            for better, worse in np.argwhere(beats[factor]):
                remaining[worse] &= ~table[better]
        own = tuple(best[factor] for factor in self.named)
        if not left[own]:
            return None
        left[own] = False
        rivals = np.tile(best, (min(_MOST_RIVALS + 1, int(left.sum())), 1))
        rivals[:, self.named] = np.argwhere(left)[: len(rivals)]
        return [list(map(int, rival)) for rival in rivals]

    def never(self, levels: Mapping[int, int], asked: Ints) -> bool:
        """Return whether levels of two factors are forbidden together, whatever else is shown, and never were shown."""
        both = [levels.get(factor, slice(None)) for factor in range(asked.ndim)]
        return not self._table[tuple(both[factor] for factor in self.named)].any() and not asked[tuple(both)].any()

    def doubts(self, factor: int, doubts: Floats) -> Floats:
        """Return how much doubt there is that each level of a factor is not in the best combination.

        A level is out where, whatever it may be shown with, some better one may be shown with that, too. `doubts`,
        (levels, levels), are those that the first is better than the second; 1 of a level and itself.
        """
        if factor not in self.named:
            return np.asarray(doubts.min(axis=0))
        beside = self._beside(factor)
        least = [np.where(beside, each[:, None], 1.0).min(axis=0) for each in doubts.T]
        return np.array([each[shown].max(initial=0.0) for each, shown in zip(least, beside, strict=True)])

    def apart(self, factor: int) -> Mask:
        """Return which two levels of a factor, (levels, levels), are never shown with the same levels of the others."""
        if factor not in self.named:
            return np.zeros((0, 0), bool)
        beside = self._beside(factor).astype(np.int64)
        return np.asarray(beside @ beside.T == 0)

    def _beside(self, factor: int) -> Mask:
        """Return for each level of a factor with what it may be shown, (levels, kinds of company)."""
        table = np.moveaxis(self._table, self.named.index(factor), 0)
        return np.unique(table.reshape(len(table), -1), axis=1)

    def _combined(self, combine: np.ufunc, each: Sequence[Floats]) -> Floats:
        """Return the sums, or the products, of one value of each factor that rules name, an axis a factor."""
        return functools.reduce(combine.outer, [each[factor] for factor in self.named], np.array(combine.identity))
