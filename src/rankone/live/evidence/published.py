"""Published lotteries and the sums of what was shown and clicked under each: all that deciding at the edge leaves.

A *version* is a lottery over the levels, in *parts*: one factor, or the factors of which levels are forbidden together,
with a weight for each combination of them. Parts are drawn independently. A part of the visitors may see the control
instead; they are counted apart, and no statement about levels rests on them.

Given that a visitor of a version clicked, and what the other factors of the part showed, level x was shown with
probability proportional to (chance of x) times (what x changes clicks by), whatever the site's rate was just then. So
for each version, and each company within a part, clicks per level are all that statements need: a *row* of sums.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.edge import WHOLE
from rankone.numerics.arrays import Floats, Ints

SHOWN, CLICKED = range(2)
#: Why rows that were told are not learned; the last three are of clicks.
UNFIT = ("unknown_version", "wrong_levels", "shown_outside", "unmatched", "late", "repeated")


class Part(NamedTuple):
    """Factors that are drawn together; `levels` has a line for each combination of them that may be shown."""

    factors: list[int]
    levels: list[list[int]]
    weights: list[int]

    def table(self, sizes: Sequence[int]) -> Floats:
        """Return the chance of each combination, an axis a factor of the part."""
        result = np.zeros([sizes[factor] for factor in self.factors])
        result[tuple(np.array(self.levels).T)] = np.array(self.weights) / WHOLE
        return result


@dataclasses.dataclass(frozen=True)
class Version:
    """A lottery as it was published."""

    number: int
    at: int  # when, in microseconds
    era: int  # of the experiment: levels change, or it stops or resumes, with each
    oldest: int  # returning visitors may go on with a version from this one on
    salt: str
    sizes: tuple[int, ...]  # levels of each factor, retired ones too
    parts: tuple[Part, ...]
    control: tuple[int, list[int]] | None  # its share, of `WHOLE`, and its levels

    @classmethod
    def of_note(cls, details: Mapping[str, Any], at: int) -> Version:
        """Read what `note` wrote."""
        parts, sizes = tuple(Part(*part) for part in details["parts"]), tuple(details["sizes"])
        control = details["control"] and (details["control"][0], details["control"][1])
        return cls(details["version"], at, details["era"], details["oldest"], details["salt"], sizes, parts, control)

    def note(self) -> str:
        """Return it as the journal keeps it."""
        names = ("era", "oldest", "salt", "sizes", "parts", "control")
        values = {"version": self.number} | {name: getattr(self, name) for name in names}
        return json.dumps(values, separators=(",", ":"))

    @property
    def cells(self) -> int:
        """How many combinations there are; what the control showed is counted behind them."""
        return math.prod(self.sizes)

    def chances(self) -> Floats:
        """Return the chance of each combination of the lottery, and of the control behind them."""
        order = [factor for part in self.parts for factor in part.factors]
        table = np.ones(())
        for part in self.parts:
            table = np.multiply.outer(table, part.table(self.sizes))
        held = 0.0 if self.control is None else self.control[0] / WHOLE
        return np.append((1.0 - held) * table.transpose(np.argsort(order)).ravel(), held)

    def rows(self, factor: int, counts: Ints) -> tuple[Floats, Ints]:
        """Return the chances of a factor's levels and their counts: a row, or one for each company within the part."""
        part = next(part for part in self.parts if factor in part.factors)
        others = tuple(axis for axis in range(len(self.sizes)) if axis not in part.factors)
        kept = [axis for axis in range(len(self.sizes)) if axis in part.factors]
        sums = counts[: self.cells].reshape(self.sizes).sum(axis=others)
        sums = sums.transpose([kept.index(axis) for axis in part.factors])
        own, size = part.factors.index(factor), self.sizes[factor]
        chances = np.moveaxis(part.table(self.sizes), own, -1).reshape(-1, size)
        return chances, np.moveaxis(sums, own, -1).reshape(-1, size)


class Published:
    """All versions of an experiment, and what was counted of each."""

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.counts: list[Ints] = []  # of each version (2, cells + 1): shown and clicked
        self.unfit: Counter[str] = Counter()

    @property
    def shown(self) -> int:
        """Visitors who were shown something, each counted once a version."""
        return sum(int(counts[SHOWN].sum()) for counts in self.counts)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return sum(counts.nbytes for counts in self.counts)

    def publish(self, details: Mapping[str, Any], at: int) -> None:
        """Take over a version."""
        self.versions.append(Version.of_note(details, at))
        self.counts.append(np.zeros((2, self.versions[-1].cells + 1), np.int64))

    def add(self, details: Mapping[str, Any], shown: Ints, clicked: Ints) -> None:
        """Add sums, also to those of each combination of all levels there are; and what did not fit.

        `details` has of each version the cells, and by how much what was shown and clicked there changed.
        """
        for number, cells, *changes in details["sums"]:
            version, counts, places = self.versions[number - 1], self.counts[number - 1], np.array(cells)
            held = places == version.cells
            levels = np.zeros((shown.ndim, len(places)), np.int64)  # of factors that came later, the first level
            levels[: len(version.sizes)] = np.unravel_index(np.where(held, 0, places), version.sizes)
            if version.control is not None:
                levels[: len(version.sizes), held] = np.array(version.control[1])[:, None]
            for own, whole, change in zip(counts, (shown, clicked), changes, strict=True):
                own[places] += np.array(change, np.int64)
                np.add.at(whole, tuple(levels), np.array(change, np.int64))
        self.unfit += Counter(details["unfit"])  # what is taken back leaves nothing

    def each(self) -> Iterator[tuple[Version, Ints]]:
        """Yield each version with its counts."""
        return zip(self.versions, self.counts, strict=True)

    def rows(self, factor: int, size: int, what: int) -> tuple[Floats, Ints]:
        """Return the rows of a factor over all versions, chances and counts, (rows, size)."""
        found = [version.rows(factor, counts[what]) for version, counts in self.each() if factor < len(version.sizes)]
        room = sum(len(chances) for chances, _ in found)
        chances, counts, first = np.zeros((room, size)), np.zeros((room, size), np.int64), 0
        for some, counted in found:
            part = slice(first, first + len(some)), slice(some.shape[1])
            chances[part], counts[part], first = some, counted, first + len(some)
        used = counts.any(axis=1)
        return chances[used], counts[used]

    def arrays(self) -> dict[str, Any]:
        """Return what a snapshot keeps as an array."""
        return {"counts": np.concatenate([counts.ravel() for counts in self.counts] or [np.zeros(0, np.int64)])}

    def facts(self) -> dict[str, Any]:
        """Return what a snapshot keeps besides."""
        versions = [[version.at, version.note()] for version in self.versions]
        return {"versions": versions, "unfit": dict(sorted(self.unfit.items()))}

    def restore(self, arrays: Mapping[str, Ints], facts: Mapping[str, Any]) -> None:
        """Go on from what a snapshot holds."""
        for at, note in facts["versions"]:
            self.publish(json.loads(note), at)
        first = 0
        for counts in self.counts:
            counts[:] = arrays["counts"][first : first + counts.size].reshape(counts.shape)
            first += counts.size
        self.unfit = Counter(facts["unfit"])
