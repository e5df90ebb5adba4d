"""Did as many visitors come to every level as an even split sends there? If not, something lost or added some of them.

A sample ratio mismatch, as it is called, makes every comparison doubtful: those who are missing may be just those who
would not have clicked (Fabijan and others, "Diagnosing sample ratio mismatch in online controlled experiments", KDD
2019). Nobody says in a table which split was meant, so only splits that look even are tested, and the sentence names
what it supposes. Where a slice of time is clearly uneven, as when a new version gets more visitors every week, the
split was meant to change, and the sum over all slices says nothing.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.clicks.counts.column_kinds import words_of
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.student import chi_square_tail
from rankone.wording.lists import listed

_LOOKS_EVEN = 1.5  # the largest number over the smallest: what is less even was meant to be so, or a policy's work
_CHANCE = 0.001  # false alarms of a test whose split was even
_LEAST = 100  # visitors of a level below which nothing is said
_POSITIONS = {"position", "pos", "rank", "slot"}  # all of them are shown, to the same visitors


class Mismatch(NamedTuple):
    """A split that looks meant to be even, and is not: the levels with most and fewest visitors, and a p-value."""

    factor: str
    most: tuple[str, int]
    least: tuple[str, int]
    p_value: float
    per_visitor: float

    @property
    def sentence(self) -> str:
        """What is said of it before any winner."""
        once = "each visitor is counted once"
        if self.per_visitor > 1.0:
            once = "few visitors come more than once"
        return (
            f"Sample ratio mismatch: {self.factor} '{self.most[0]}' was shown {self.most[1]:,} times, "
            f"'{self.least[0]}' {self.least[1]:,} times: too uneven for an equal split. Do not trust what follows, "
            f"if an equal split was meant and {once}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counts = {"factor": self.factor, "most": list(self.most), "least": list(self.least)}
        return {**counts, "p_value": self.p_value, "sentence": self.sentence}


def check_split(counts: FactorCounts) -> Mismatch | None:
    """Return the worst mismatch of a factor, None where the split is even, was meant not to be, or cannot be judged.

    >>> from rankone.clicks.counts.factor_counts import as_factor_counts
    >>> check_split(as_factor_counts(([10_250, 8_110], [512, 487]))).least
    ('row 2', 8110)
    """
    if counts.per_visitor is None:
        return None
    tested: list[Mismatch] = []
    for factor, names, level in _sides(counts):
        shown: Floats = np.bincount(level, counts.shown).astype(np.float64)
        even = len(shown) > 1 and shown.min() >= _LEAST and _looks_even(shown)
        if even and not set(words_of(factor)) & _POSITIONS and not _ramped(counts, level):
            most, least = int(shown.argmax()), int(shown.argmin())
            ends = (names[most], int(shown[most])), (names[least], int(shown[least]))
            tested.append(Mismatch(factor, *ends, _p_value(shown, counts.per_visitor), counts.per_visitor))
    worst = min(tested, key=lambda each: each.p_value, default=None)
    return worst if worst is not None and worst.p_value * len(tested) <= _CHANCE else None


def _looks_even(shown: Floats) -> bool:
    return bool(shown.max() <= _LOOKS_EVEN * shown.min())


def _p_value(shown: Floats, per_visitor: float) -> float:
    mean = shown.mean()
    return chi_square_tail(float(((shown - mean) ** 2).sum() / mean) / per_visitor, len(shown) - 1)


def _ramped(counts: FactorCounts, level: Ints) -> bool:
    """Whether the split of some slice of time, such as a week, was clearly uneven: then it was meant to change."""
    if counts.slices is None or counts.per_visitor is None:
        return False
    shown = np.zeros((len(counts.slices.names), int(level.max()) + 1))
    np.add.at(shown, (counts.slices.when, level[counts.slices.cell]), counts.slices.shown)
    return any(not _looks_even(each) and _p_value(each, counts.per_visitor) <= _CHANCE for each in shown if each.any())


def _sides(counts: FactorCounts) -> list[tuple[str, list[str], Ints]]:
    """Return which level each combination has of every factor; itself, where not all were shown with all."""
    if len(counts.cells) == math.prod(counts.sizes):
        return list(zip(counts.factors, map(list, counts.levels), counts.cells.T, strict=True))
    names = [", ".join(counts.named(cell).values()) for cell in counts.cells]
    return [(listed(counts.factors), names, np.arange(len(counts.cells)))]
