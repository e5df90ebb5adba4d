"""What time it is for a journal: never earlier than before, and never standing still.

The machine's clock can be set. Forwards, the journal goes with it at once: windows end early by the jump. Backwards,
the journal goes on from where it is, at the pace of a clock that nobody can set, so windows still end in time; it is
then ahead of the machine's clock, which is noted as an event.
"""

from __future__ import annotations

import time

AHEAD = 10_000_000  # microseconds: the journal may be so far ahead of the machine's clock before it is worth a word


class Clock:
    """The two clocks of the machine, in whole microseconds; a subclass gives tests their own.

    >>> clock = Clock()
    >>> earlier = clock.steady()
    >>> clock.steady() >= earlier
    True
    """

    def wall(self) -> int:
        """Return the time since 1970. It jumps when the clock is set."""
        return time.time_ns() // 1000

    def steady(self) -> int:
        """Return the time since some moment, machine asleep or not. It never jumps."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        return time.monotonic_ns() // 1000


class JournalTime:
    """The time of one journal, as one process tells it. Other processes may have other clocks."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lead = -(2**62)  # of the journal over the steady clock, at least
        self._ahead = 0  # of the journal over the machine's clock
        self._known: int | None = None  # how far ahead it was when this process last took note

    def seen(self, at: int) -> None:
        """Take note of the time of the journal's last event, just read or written."""
        self._lead = max(self._lead, at - self.clock.steady())

    def now(self) -> int:
        """Return the time."""
        wall = self.clock.wall()
        now = max(wall, self._lead + self.clock.steady())
        self._ahead = now - wall
        return now

    def news(self, noted: int) -> int | None:
        """Return how far ahead the journal was at the last look, if that is news; `noted` is what its events say.

        A process repeats itself only when it finds something else, so that machines whose clocks disagree do not
        contradict each other with every request.
        """
        known = noted if self._known is None else self._known
        changed = abs(self._ahead - known) > AHEAD
        self._known = self._ahead if changed else known
        return self._ahead if changed and abs(self._ahead - noted) > AHEAD else None
