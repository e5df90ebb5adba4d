"""What an experiment knows of each segment of its visitors: what was shown, what came of it, what clicks say.

Attributes are declared, with their levels if these shall be no others, or the first ask settles which there are
(`rankone.live.visitor_attributes`); of a number its half of the range is a level. Each new combination of levels is a
segment of its own, numbered in the order in which they came. There is room for `most` of them; visitors of later ones
are counted together, as others, while the journal keeps what was said of each.

Where the policy looks at features there may be many attributes, so each level of an attribute is a segment, `by level`,
and a visitor belongs to one for each attribute that is known. The number of a visitor then has a bit for each segment.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.levels import TRAFFIC_RATIOS, Evidence, resized, start_evidence, weigh
from rankone.live.factors import widened
from rankone.live.setting_kinds import as_tuples
from rankone.live.visitor_attributes import (
    Declaration,
    context_of,
    fits,
    groups_of,
    segment_levels,
    segment_text,
    settled_by,
)
from rankone.numerics.arrays import Floats, Ints

MOST = 64  # segments that are told apart; by level 62, as numbers have bits
_CELLS, _PAIRS = 2_000_000, 65_536  # combinations, and pairs of levels, of all segments together
UNSAID, OTHERS = -1, -2  # who said nothing of a visitor; segments that came when there was no room
ASKED, PULLS, CLICKS = range(3)


class Segments:
    """The segments of an experiment; `sizes` are those of its factors."""

    def __init__(self, sizes: tuple[int, ...], by_level: bool = False) -> None:
        self._by_level = by_level
        self.declared: Declaration | None = None  # None: nobody declared or said anything so far
        self.ignored: Counter[str] = Counter()  # decisions by what of them was ignored, see `declared_part`
        self.texts: list[str] = []  # as the journal has them, by number
        self.counts: list[Ints] = []  # of each: decisions, outcomes and clicks of each combination, (3, *sizes)
        self.evidence: list[Evidence] = []
        self.others: Ints | None = None  # as `counts`, of those for whom there is no room; None: nobody came
        self.unsaid = np.zeros(3, np.int64)  # decisions, outcomes and clicks
        self._numbers: dict[str, int] = {}
        self._sizes = sizes

    @property
    def attributes(self) -> tuple[str, ...] | None:
        """The names of the attributes; None: nobody declared or said anything so far."""
        return None if self.declared is None else tuple(name for name, _ in self.declared)

    @property
    def most(self) -> int:
        """How many can be told apart."""
        levels, cells = sum(self._sizes), math.prod(self._sizes)
        return min(MOST - 2 * self._by_level, _PAIRS // levels**2, _CELLS // cells)

    def parts(self, pulls: Ints, clicks: Ints, living: tuple[Ints, ...]) -> tuple[Ints, Ints]:
        """Split counts of the living levels by segment, by the numbers that `told_to_policy` gives them."""
        told_apart = self.counts
        if self.others is not None:
            empty = np.zeros((3, *self._sizes), np.int64)
            told_apart = [*self.counts, *[empty] * (self.most - len(self.counts)), self.others]
        of_each = [[counts[living] for counts in each[PULLS:]] for each in told_apart]
        rest = [whole - sum(each[what] for each in of_each) for what, whole in enumerate((pulls, clicks))]
        each_pulls, each_clicks = np.stack([rest, *of_each], axis=1)
        return each_pulls, each_clicks

    def resize(self, sizes: tuple[int, ...]) -> None:
        """Make room for new levels and factors; segments for which there is none then are among the others."""
        if sizes != self._sizes:
            self._sizes = sizes
            others = self.counts[self.most :] + ([] if self.others is None else [self.others])
            for known in (self.texts, self.counts, self.evidence):
                del known[self.most :]
            self._numbers = {text: number for number, text in enumerate(self.texts)}
            self.counts = [_wider(counts, sizes) for counts in self.counts]
            self.others = _wider(np.sum(others, axis=0), sizes) if others else None
            self.evidence = [resized(evidence, sizes) for evidence in self.evidence]

    def number(self, text: str | None) -> int:
        """Return the number of a visitor's segment, or segments, new ones if they are new."""
        if text is None:
            return UNSAID
        if self.declared is None:
            self.declared = settled_by(context_of(text))
        if not self._by_level:
            return self._number(segment_text(text, self.declared))
        own = [number for number in map(self._number, groups_of(text, self.declared)) if number != OTHERS]
        return sum(1 << number for number in own) if own else UNSAID

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            if len(self.texts) >= self.most:
                return OTHERS
            self.add(text)
        return self._numbers[text]

    def declare(self, declared: Declaration) -> dict[int, int]:
        """Tell other segments apart; return the new numbers of those there are.

        Segments that no longer fit are among the others from now on. The numbers of segments settle which part of the
        error is theirs; so where some get new ones, all that is proven of segments has to be proven anew.
        """
        self.declared = declared
        levels = segment_levels(declared)
        kept = [number for number, text in enumerate(self.texts) if fits(context_of(text), levels)]
        numbers = dict.fromkeys(range(len(self.texts)), OTHERS) | {old: new for new, old in enumerate(kept)}
        if len(kept) < len(self.texts):
            gone = [counts for number, counts in enumerate(self.counts) if numbers[number] == OTHERS]
            self.others = np.sum([*gone, *([] if self.others is None else [self.others])], axis=0)
            self.texts, self.counts = [self.texts[old] for old in kept], [self.counts[old] for old in kept]
            self._numbers = {text: number for number, text in enumerate(self.texts)}
            self.evidence = [start_evidence(self._sizes) for _ in self.texts]
        return numbers

    def add(self, text: str) -> None:
        """Note a new segment."""
        self._numbers[text] = len(self.texts)
        self.texts.append(text)
        self.counts.append(np.zeros((3, *self._sizes), np.int64))
        self.evidence.append(start_evidence(self._sizes))

    def rest_unsaid(self, *whole: Ints) -> None:
        """Count as unsaid what is left of all decisions, outcomes and clicks.

        Nobody counts them before the first segment is named, however late that is.
        """
        said = [self.totals(number) for number in (OTHERS, *range(len(self.texts)))]
        self.unsaid = np.array([each.sum() for each in whole], np.int64) - np.sum(said, axis=0, dtype=np.int64)

    def forget(self) -> None:
        """Begin to count anew, with the segments there are."""
        for counts in (*self.counts, self.unsaid):
            counts[:] = 0
        self.others = None
        self.forget_evidence()

    def forget_evidence(self) -> None:
        """Weigh anew from here on."""
        self.evidence = [start_evidence(self._sizes) for _ in self.texts]

    def count(self, what: int, number: int, shown: tuple[int, ...], amount: int = 1) -> None:
        """Count decisions, outcomes or clicks of what is shown to a visitor of segment `number`."""
        if number == UNSAID:
            self.unsaid[what] += amount
        elif self._by_level:
            for each, counts in enumerate(self.counts):
                if number >> each & 1:
                    counts[(what, *shown)] += amount
        else:
            self._counts_of(number)[(what, *shown)] += amount

    def _counts_of(self, number: int) -> Ints:
        if 0 <= number < len(self.texts):
            return self.counts[number]
        if self.others is None:
            self.others = np.zeros((3, *self._sizes), np.int64)
        return self.others

    def _known(self, numbers: Ints) -> Ints:
        """Return numbers as they are by now: of decisions from before a change of levels some are no longer known."""
        return numbers if self._by_level else np.where(numbers >= len(self.texts), OTHERS, numbers)

    def weigh(self, numbers: Ints, shown: Ints, clicked: Ints, crosses: Floats) -> None:
        """Learn from outcomes, as `rankone.evidence.levels.weigh` does, each for its own segment."""
        numbers = self._known(numbers)
        nothing = start_evidence((0,) * len(self._sizes), TRAFFIC_RATIOS)
        each = range(len(self.texts)) if self._by_level else np.unique(numbers[numbers >= 0]).tolist()
        for number in each:
            fits = (numbers >= 0) & (numbers >> number & 1 == 1) if self._by_level else numbers == number
            if not fits.any():
                continue
            tiered(weigh, weigh.__module__)(
                self.evidence[number], nothing, shown[fits], clicked[fits], crosses[fits], size=int(fits.sum())
            )

    def totals(self, number: int) -> tuple[int, int, int]:
        """Return decisions, outcomes and clicks of a segment, of the others or of visitors of whom nothing was said."""
        known = self.unsaid if number == UNSAID else self.others if number == OTHERS else self.counts[number]
        decisions, outcomes, clicks = (0, 0, 0) if known is None else (int(each.sum()) for each in known)
        return decisions, outcomes, clicks

    def told_to_policy(self, numbers: list[int] | None, events: int) -> Floats:
        """Return segments as the context of a policy, a number an event: 0 where nothing was said.

        Those for whom there is no room have the number behind all others.
        """
        known = self._known(np.array([UNSAID] * events if numbers is None else numbers))
        return np.where(known == OTHERS, self.most + 1, known + 1).astype(np.float64)[:, None]

    @property
    def nbytes(self) -> int:
        """How large all this is."""
        others = 0 if self.others is None else self.others.nbytes
        return others + sum(sum(array.nbytes for array in each) for each in (self.counts, *self.evidence))

    def arrays(self) -> dict[str, Any]:
        """Return all that is counted as plain arrays."""
        result: dict[str, Any] = {"unsaid": self.unsaid}
        if self.others is not None:
            result["others"] = self.others
        if self.texts:
            result["counts"] = np.stack(self.counts)
            for name in Evidence._fields:
                result[name] = np.stack([getattr(evidence, name) for evidence in self.evidence])
        return result

    def facts(self) -> list[Any]:
        """Return what a snapshot keeps besides."""
        return [self.texts, self.declared, self.ignored]

    def restore(self, arrays: Any, facts: list[Any]) -> None:
        """Go on from what `arrays` and `facts` returned."""
        texts, declared, ignored = facts
        for text in texts:
            self.add(text)
        if texts:
            self.counts = list(arrays["counts"])
            stored = (arrays[name] for name in Evidence._fields)
            self.evidence = [Evidence(*parts) for parts in zip(*stored, strict=True)]
        self.declared, self.ignored = as_tuples(declared), Counter(ignored)
        self.unsaid, self.others = arrays["unsaid"], arrays.get("others")


def _wider(counts: Ints, sizes: tuple[int, ...]) -> Ints:
    return np.stack([widened(each, sizes) for each in counts])
