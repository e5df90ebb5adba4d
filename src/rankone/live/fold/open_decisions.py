"""Decisions that wait: for their outcome, or with it for the end of a window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rankone.live.journal.events import DECISION, KIND, Events, Kind


class Open(NamedTuple):
    """A decision that waits for its outcome."""

    tag: int
    at: int
    secret: bytes
    shown: bytes  # the level of each factor that there was
    token: str | None = None  # that asked
    cross: bytes | None = None  # the probabilities of its cross
    segment: int = -1  # of the visitor, see `rankone.live.evidence.segments`; -1: nobody said


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
