"""What time it is for a journal: never earlier than before, and never standing still.

The machine's clock can be set. Forwards, the journal goes with it at once: windows end early by the jump. Backwards,
the journal goes on from where it is, at the pace of a clock that nobody can set, so windows still end in time; it is
then ahead of the machine's clock. Either is noted as an event.
"""

import time

AHEAD = 10_000_000  # microseconds: so far the two clocks may part, or jump, before it is worth a word
_STEADY = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))  # of Linux; of macOS


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
        """Return the time since some moment; on Linux and macOS it goes on while the machine sleeps. It never jumps."""
        return (time.monotonic_ns() if _STEADY is None else time.clock_gettime_ns(_STEADY)) // 1000


class JournalTime:
    """The time of one journal, as one process tells it. Other processes may have other clocks."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lead = -(2**62)  # of the journal over the steady clock, at least
        self._ahead = 0  # of the journal over the machine's clock
        self._base = clock.wall() - clock.steady()  # lead of the journal, but for a jump not noted yet
        self._jumped = 0  # that jump
        self._known: int | None = None  # how far ahead it was when this process last took note
        self._telling: tuple[int, int] | None = None  # (known, jumped) once the news is stored

    def seen(self, at: int) -> None:
        """Take note of the time of the journal's last event, just read or written."""
        self._lead = max(self._lead, at - self.clock.steady())

    def now(self) -> int:
        """Return the time."""
        wall, steady = self.clock.wall(), self.clock.steady()
        now = max(wall, self._lead + steady)
        self._ahead, self._jumped = now - wall, now - steady - self._base
        if self._ahead or self._jumped <= AHEAD:  # in step, or carried on by another machine's events
            self._base, self._jumped = now - steady, 0
        return now

    def news(self, noted: int) -> int | None:
        """Return how far ahead the journal was at the last look, if that is news; `noted` is what its events say.

        Below zero: how far the machine's clock took the journal when it jumped ahead. A process repeats itself only
        when it finds something else, so that machines whose clocks disagree do not contradict each other with every
        request; and where its news did not get into the journal (no `stored` follows).
        """
        known = noted if self._known is None else self._known
        changed = abs(self._ahead - known) > AHEAD
        self._telling = self._ahead if changed else known, self._jumped
        if self._jumped:
            return -self._jumped
        return self._ahead if changed and abs(self._ahead - noted) > AHEAD else None

    def stored(self) -> None:
        """Take note that the news, if there was any, is in the journal."""
        if self._telling is not None:
            self._known, jumped = self._telling
            self._base += jumped
            self._telling = None
