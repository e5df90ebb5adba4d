"""Visitors of an experiment whose policy chooses for each of them: their numbers, and what each saw and clicked.

The journal has a hash of a visitor's name with each decision. Numbers, from 1 on, are given in the order in which
visitors come. In memory are as many as the policy has `users`; where one more comes, the one who has not asked for
longest leaves, unless a decision of theirs is open, and the newcomer takes the number over. What the one who left did
then counts as visitor 0's, who stands for all who are forgotten; whoever comes back is new. The journal keeps it all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankone.live.factors import widened
from rankone.live.journal.events import CLOSING, DECISION, KIND, LEARNED, VALUE, Events, Kind
from rankone.live.journal.exclusions import Exclusions
from rankone.live.journal.packing import unpack_shown
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.advance import Stretch

_ASK, _LEARNED, _CLOSING = int(Kind.ASK), frozenset(map(int, LEARNED)), frozenset(map(int, CLOSING))
_FIRST_ROOM, _BYTES = 64, 300  # visitors; of memory for each, besides counts


class Visitors:
    """Who is in memory: `most` visitors; `sizes` are those of the experiment's factors."""

    def __init__(self, most: int, sizes: Sequence[int]) -> None:
        self._most = most
        self._numbers: dict[str, int] = {}  # by hash, who asked last is the last
        self._latest: dict[int, int] = {}  # the latest decision of each, by number
        self._open: dict[int, int] = {}  # whose decisions are open
        self._waiting: dict[int, int] = {}  # how many decisions of each are open
        self.counts = np.zeros((2, _FIRST_ROOM, *sizes), np.int64)  # outcomes and clicks of each, by number

    @property
    def users(self) -> int:
        """How many numbers are in use, that of visitor 0 too."""
        return 1 + len(self._numbers)

    @property
    def nbytes(self) -> int:
        """How large all this is, roughly."""
        return self.counts.nbytes + _BYTES * self.users

    def latest(self, visitor: str) -> int | None:
        """Return the latest decision of a visitor, given as a hash; None: of none in memory."""
        return self._latest.get(self._numbers.get(visitor, 0))

    def follow(self, events: Events, exclusions: Exclusions) -> Floats:
        """Move over events; return the context of each for the policy: its visitor, below zero if the number is new."""
        result, n_factors = np.zeros((len(events), 1)), self.counts.ndim - 2
        for index, (head, texts) in enumerate(zip(events.heads, events.texts, strict=True)):
            kind, decision = head[KIND], head[DECISION]
            if kind == _ASK and texts.note is not None:
                result[index] = self._asked(texts.details().get("visitor"), decision)
            elif kind in _CLOSING and decision in self._open:
                number = self._open.pop(decision)
                self._waiting[number] -= 1
                result[index] = number
                if kind in _LEARNED and exclusions.taking(head, texts) is None:
                    levels = unpack_shown(texts.shown or b"", n_factors)
                    for counts, more in zip(self.counts, (1, head[VALUE]), strict=True):
                        counts[(number, *levels)] += more
        return result

    def _asked(self, visitor: str | None, decision: int) -> int:
        """Note a decision; return the number of its visitor, below zero if it was somebody else's."""
        if visitor is None:
            return 0
        number, sign = self._numbers.pop(visitor, 0), 1
        if not number:
            number = self.users
            leaves = next((who for who, own in self._numbers.items() if not self._waiting.get(own)), None)
            if number >= self._most and leaves is not None:
                number, sign = self._numbers.pop(leaves), -1
                self.counts[:, 0] += self.counts[:, number]
                self.counts[:, number] = 0
            if number >= self.counts.shape[1]:
                self.counts = widened(self.counts, (2, 2 * number, *self.counts.shape[2:]))
        self._numbers[visitor] = number
        self._latest[number] = decision
        self._open[decision] = number
        self._waiting[number] = self._waiting.get(number, 0) + 1
        return sign * number

    def begin_era(self, sizes: Sequence[int], forgets: bool) -> None:
        """Make room for new levels and factors, or begin to count anew."""
        self.counts = widened(self.counts, (*self.counts.shape[:2], *sizes))
        if forgets:
            self.counts[:] = 0

    def known(self, pulls: Ints, clicks: Ints, living: tuple[Ints, ...]) -> Stretch:
        """Return the events that feed a policy what is known of living levels: what is nobody's is visitor 0's."""
        own: Any = np.stack([np.stack([each[living] for each in counts[: self.users]]) for counts in self.counts])
        own[:, 0] = np.stack([pulls, clicks]) - own[:, 1:].sum(axis=1)
        return Stretch.known(own[0], own[1], by_segment=True)

    def facts(self) -> list[Any]:
        """Return who is in memory, as plain values."""
        return [list(each.items()) for each in (self._numbers, self._latest, self._open)]

    def arrays(self) -> dict[str, Any]:
        """Return the counts."""
        return {"counts": self.counts}

    def restore(self, arrays: Mapping[str, Ints], facts: list[Any]) -> None:
        """Go on from what `arrays` and `facts` returned."""
        self._numbers, self._latest, self._open = map(dict, facts)
        self.counts = arrays["counts"]
        for number in self._open.values():
            self._waiting[number] = self._waiting.get(number, 0) + 1
