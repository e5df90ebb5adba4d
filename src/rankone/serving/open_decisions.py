"""Decisions that wait: for their outcome, or with it for the end of a window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rankone.serving.journal import DECISION, KIND, Events, Kind
from rankone.serving.packing import unpack_shown


class Open(NamedTuple):
    """A decision that waits for its outcome."""

    row: int
    col: int
    tag: int
    at: int
    secret: bytes
    token: str | None = None  # that asked
    cross: bytes | None = None  # the probabilities of its cross
    shown: bytes | None = None  # all levels, where they are more than two
    segment: int = -1  # of the visitor, see `rankone.serving.segments`; -1: nobody said

    @property
    def pair(self) -> tuple[int, int, int]:
        """What its outcome repeats in the journal, besides `shown`."""
        return self.row, self.col, self.tag

    def levels(self, n_factors: int) -> list[int]:
        """Return the level of each factor; of factors that came later, the first."""
        known = [self.row, self.col][:n_factors] if self.shown is None else unpack_shown(self.shown)
        return known + [0] * (n_factors - len(known))


class Held(NamedTuple):
    """An outcome that waits for the end of its window."""

    clicked: int
    source: str | None
    token: str | None = None  # that told


def crosses_of(events: Events, decisions: Iterable[int], waiting: Mapping[int, Open]) -> list[bytes | None]:
    """Return the probabilities of decisions, made before these events (then they wait) or among them."""
    asked = {}
    if len(events) > 1:
        for place in (events.numbers[:, KIND] == int(Kind.ASK)).nonzero()[0].tolist():
            asked[int(events.numbers[place, DECISION])] = events.texts[place].cross_chances
    found = []
    for decision in decisions:
        opened = waiting.get(decision)
        found.append(asked.get(decision) if opened is None else opened.cross)
    return found
