"""Levels that are never shown together. A rule has a level of each factor, -1 for any; of new factors, any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rankone.live.factors import Factors
from rankone.numerics.arrays import Ints

Rules = Sequence[Sequence[int]]
Floats = npt.NDArray[np.float64]
_MOST_RIVALS = 100  # of a combination that are looked at; with more, too little is known anyway


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


class Allowed:
    """Which combinations of living levels may be shown; only the factors that rules name need a table."""

    def __init__(self, rules: Ints, sizes: Sequence[int]) -> None:
        self._named = [factor for factor in range(len(sizes)) if (rules[:, factor] >= 0).any()]
        self._table = np.ones([sizes[factor] for factor in self._named], bool)
        for rule in rules:
            self._table[tuple(slice(None) if rule[factor] < 0 else rule[factor] for factor in self._named)] = False

    @property
    def named(self) -> list[int]:
        """The factors that rules name."""
        return self._named

    def table(self, n_factors: int) -> npt.NDArray[np.bool_]:
        """Return what may be shown, an axis a factor; those that no rule names have one place for all their levels."""
        free = tuple(factor for factor in range(n_factors) if factor not in self._named)
        return np.expand_dims(self._table, free)

    def best(self, scores: Sequence[Floats]) -> tuple[int, ...]:
        """Return the combination whose levels have the highest sum of scores, among those that may be shown.

        >>> rows, cols = np.array([2.0, 1.0]), np.array([1.5, 0.0])
        >>> Allowed(np.array([[0, 0]]), (2, 2)).best([rows, cols]), Allowed(np.empty((0, 2)), (2, 2)).best([rows, cols])
        ((1, 0), (0, 0))
        """
        found = [int(np.argmax(each)) for each in scores]
        if self._named:
            place = np.unravel_index(int(np.argmax(self._sums(scores))), self._table.shape)
            for factor, level in zip(self._named, place, strict=True):
                found[factor] = int(level)
        return tuple(found)

    def rivals(self, best: Sequence[int], beats: Sequence[npt.NDArray[np.bool_]]) -> list[list[int]] | None:
        """Return the combinations that nothing allowed is proven to beat by one level; None: `best` itself is beaten.

        Args:
            best: a combination, which is left out.
            beats: for each factor, (levels, levels) whether the first is proven to be better than the second.
        """
        left = self._table.copy()
        for axis, factor in enumerate(self._named):
            table, remaining = np.moveaxis(self._table, axis, 0), np.moveaxis(left, axis, 0)
            for better, worse in np.argwhere(beats[factor]):
                remaining[worse] &= ~table[better]
        own = tuple(best[factor] for factor in self._named)
        if not left[own]:
            return None
        left[own] = False
        found = []
        for place in np.argwhere(left)[: _MOST_RIVALS + 1]:
            found.append(list(best))
            for factor, level in zip(self._named, place.tolist(), strict=True):
                found[-1][factor] = level
        return found

    def never(self, levels: Mapping[int, int], asked: Ints) -> bool:
        """Return whether levels of two factors are forbidden together, whatever else is shown, and never were shown."""
        place = tuple(levels.get(factor, slice(None)) for factor in self._named)
        return (
            not self._table[place].any()
            and not asked[tuple(levels.get(at, slice(None)) for at in range(asked.ndim))].any()
        )

    def doubts(self, factor: int, doubts: Floats) -> Floats:
        """Return how much doubt there is that each level of a factor has no place in the best combination.

        A level is out where, whatever it may be shown with, some better one may be shown with that, too.

        Args:
            factor: its number.
            doubts: (levels, levels) that the first is better than the second; 1 of a level and itself.
        """
        if factor not in self._named:
            return np.asarray(doubts.min(axis=0))
        beside = self._beside(factor)
        least = [np.where(beside, each[:, None], 1.0).min(axis=0) for each in doubts.T]
        return np.array([each[shown].max(initial=0.0) for each, shown in zip(least, beside, strict=True)])

    def apart(self, factor: int) -> npt.NDArray[np.bool_]:
        """Return which two levels of a factor, (levels, levels), are never shown with the same levels of the others."""
        if factor not in self._named:
            return np.zeros((0, 0), bool)
        beside = self._beside(factor).astype(np.int64)
        return np.asarray(beside @ beside.T == 0)

    def _beside(self, factor: int) -> npt.NDArray[np.bool_]:
        """Return for each level of a factor with what it may be shown, (levels, kinds of company)."""
        table = np.moveaxis(self._table, self._named.index(factor), 0)
        return np.unique(table.reshape(len(table), -1), axis=1)

    def _sums(self, scores: Sequence[Floats]) -> Floats:
        sums = np.zeros(())
        for factor in self._named:
            sums = np.add.outer(sums, scores[factor])
        return np.where(self._table, sums, -np.inf)
