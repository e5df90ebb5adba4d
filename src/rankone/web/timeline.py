"""The course of an experiment: decisions, outcomes and clicks over time, from the journal.

The journal is read once; later looks read only what came since. Counting is left to the database, which neither holds
up this program nor its writers meanwhile. Outcomes excluded later stay in the picture: they did happen. What is in an
archive when this begins is not in it.
"""

import functools
from typing import Any

from rankone.live.database import Database
from rankone.live.journal.events import Kind, of_rows
from rankone.live.storage import Storage

MAX_POINTS = 240
SIMULATED = "simulated"  # the source that a simulated audience gives
_STRETCH = 500_000  # events counted by one statement: the database ends those that take long


class Timeline:
    """Counts per stretch of time; the stretches double when there are too many of them."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._number = database, database.number(name)
        self._width = 1_000_000  # microseconds
        self._seq = 0  # counted up to here
        self._begun = False
        self._points: dict[int, list[int]] = {}  # stretch -> [decisions, outcomes, clicks]
        self.simulated = 0

    def catch_up(self) -> None:
        """Count what the journal has by now."""
        end = self._database.use(lambda storage: storage.last_event(self._number))
        while self._seq < end:
            self._database.use(functools.partial(self._count, min(end, self._seq + _STRETCH)))

    def _count(self, upto: int, storage: Storage) -> None:
        if not self._begun:
            self._begun = True
            self._seq, self.simulated = _archived(storage, self._number)
            first, last = storage.span(self._number, self._seq)
            while last // self._width - first // self._width >= MAX_POINTS:
                self._width *= 2
        counted = storage.course(self._number, self._seq, upto, self._width, SIMULATED)
        for stretch, kind, count, value, simulated in counted:
            point = self._points.setdefault(int(stretch), [0, 0, 0])
            if kind == Kind.ASK:
                point[0] += int(count)
                self.simulated += int(simulated)
            else:
                point[1] += int(count)
                point[2] += int(value)
        self._seq = max(self._seq, upto)
        while self._points and max(self._points) - min(self._points) >= MAX_POINTS:
            self._coarsen()

    def to_dict(self) -> dict[str, Any]:
        """Return the points, oldest first; `at` is the beginning of a stretch in seconds since 1970."""
        seconds = self._width / 1e6
        names = ("decisions", "outcomes", "clicks")
        points = [{"at": at * seconds} | dict(zip(names, self._points[at], strict=True)) for at in sorted(self._points)]
        return {"seconds": seconds, "points": points}

    def _coarsen(self) -> None:
        self._width *= 2
        points, self._points = self._points, {}
        for stretch, counts in points.items():
            merged = self._points.setdefault(stretch // 2, [0, 0, 0])
            merged[:] = [old + new for old, new in zip(merged, counts, strict=True)]


def _archived(storage: Storage, number: int) -> tuple[int, int]:
    """Return the last event that is in an archive, and how many decisions in archives were asked by simulation."""
    marks = of_rows(storage.marks(number))
    notes = [texts.details() for texts in marks.texts]
    return storage.base_seq(number), sum(int(note.get("simulated", 0)) for note in notes)
