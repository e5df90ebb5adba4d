"""The factors of an experiment and their levels, living and retired.

A combination is the number of its level in each factor. Factors and levels are numbered in the order in which they
came, and keep their numbers: what was decided before a factor was added had its first level, number 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


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
    found = np.zeros(sizes, np.int64)
    found[tuple(slice(size) for size in before)] = counts.reshape(before)
    return found
