"""Outcomes weighed: what clicks, late ones too, say about levels, in total and by segment.

A fault here does not stop decisions. Where weighing fails, evidence is dropped and nothing is stated (`broken`); no
snapshot is kept meanwhile, so a program without the fault weighs the whole journal again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.errors import InputError
from rankone.evidence.change_monitor import Watch, start_watch, watch_outcomes
from rankone.evidence.levels import TRAFFIC_RATIOS, Evidence, start_evidence, weigh
from rankone.evidence.steering import margin_ratio_of_each
from rankone.live.evidence.segments import UNSAID, Segments
from rankone.live.journal.packing import unpack_crosses
from rankone.live.settings import Settings
from rankone.numerics.arrays import Floats, Ints

MAX_LEVELS = 256  # of all factors together; evidence about each two of more would not fit
_MOST_WAITING = 256  # outcomes


def fault_text(error: Exception) -> str:
    """Return what went wrong, as journals and reports name it."""
    return f"{type(error).__name__}: {error}"


def _settled(name: str) -> Any:
    """Return a property that weighs the outcomes that wait before it is read."""

    def read(self: WeighedOutcomes) -> Any:
        self._settle()
        return getattr(self, name)

    return property(read)


class Weighed(NamedTuple):
    """An outcome to be weighed."""

    shown: tuple[int, ...]  # the level of each factor
    clicked: int  # 1 or 0
    cross: bytes | None  # the probabilities of its cross; None: not known
    hidden: list[int]  # levels that were left out by hand for what they are: they are not compared here
    decision: int
    drawn: bool = True  # a policy made the decision; those after a stop say nothing about it
    segment: int | None = None  # of the visitor; None: nobody said anything of any of them


class Fallible:
    """Evidence that a fault in the program may leave without an answer: decisions go on, and nothing is stated."""

    broken: str | None = None  # why outcomes cannot be weighed: nothing is, until all begins anew
    noted: str | None = None  # why the last look at evidence failed

    def _settle(self) -> None:
        """Weigh the outcomes that wait, if there are any."""

    @property
    def sound(self) -> bool:
        """Whether all outcomes so far could be weighed; only then may a snapshot be kept."""
        self._settle()
        return self.broken is None

    def check_sound(self) -> None:
        """Refuse to keep for good what a program without the fault would weigh again."""
        if not self.sound:
            do = "nothing was changed: update rankone, then try again"
            raise InputError("evidence that can be weighed", f"a fault in the program ({self.broken})", do)

    @property
    def fault(self) -> str | None:
        """Why nothing can be stated; None: no fault is known."""
        self._settle()
        return self.broken or self.noted


class WeighedOutcomes(Fallible):
    """What outcomes have shown so far."""

    starts: Ints  # of the factors among all levels

    def __init__(self, settings: Settings, sizes: tuple[int, ...], segments: Segments | None) -> None:
        self._settings, self.sizes = settings, sizes
        self.fits = sum(sizes) <= MAX_LEVELS
        sizes = sizes if self.fits else (1,) * len(sizes)
        self._segments = segments or Segments(sizes)
        self._begin_evidence(sizes)
        self.weighed = 0  # outcomes that count
        self._compared = 0  # those of decisions that leave something to compare
        self._waiting: list[Weighed] = []  # evidence is looked at now and then: until then, outcomes only wait

    def _begin_evidence(self, sizes: tuple[int, ...]) -> None:
        margin_ratio = margin_ratio_of_each(self._settings.stopping.margin, len(sizes))
        self._evidence = start_evidence(sizes, margin_ratio=margin_ratio)
        self._traffic = start_evidence(sizes, TRAFFIC_RATIOS)
        self._late = self._start_late((0,) * len(sizes))  # nearly always there is none: it needs no room
        self._watch = start_watch(())

    def weigh(self, outcomes: list[Weighed]) -> None:
        """Learn from outcomes that count."""
        self.weighed += sum([outcome.drawn for outcome in outcomes])
        if self.fits:
            self._waiting += outcomes
            if len(self._waiting) >= _MOST_WAITING:
                self._settle()

    def _start_late(self, sizes: tuple[int, ...]) -> Evidence:
        return start_evidence(sizes, tuple(self._evidence.ratios.tolist()))

    def weigh_late(self, outcomes: list[Weighed]) -> None:
        """Learn from clicks that came too late to count."""
        if not self.fits or self.broken:
            return
        try:
            if not len(self._late.now):
                self._late = self._start_late(self.sizes)
            shown, clicked, crosses = self._arrays_of(outcomes)
            nothing = start_evidence((0,) * len(self.sizes), TRAFFIC_RATIOS)
            weigh_all = tiered(weigh, weigh.__module__)
            weigh_all(self._late, nothing, shown, clicked, crosses, size=len(outcomes))
        except Exception as error:
            self._give_up(error)

    def _arrays_of(self, outcomes: list[Weighed]) -> tuple[Ints, Ints, Floats]:
        """Return the levels of outcomes, numbered factor after factor, the clicks, and the probabilities."""
        shown, clicked, packed, hidden, *_ = zip(*outcomes, strict=True)
        crosses, _ = unpack_crosses(packed, self.sizes)
        for cross, levels in zip(crosses, hidden, strict=True):
            if levels:
                cross[levels] = 0.0
        return np.array(shown) + self.starts[:-1], np.array(clicked), crosses

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting or self.broken:
            return
        try:
            self._weigh_all(waiting)
            if not math.isfinite(self._evidence.now.sum() + self._traffic.now.sum()):
                raise FloatingPointError("evidence that is no number")
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Drop evidence that cannot be weighed: decisions do not wait for it, and the report says so."""
        self.broken = fault_text(error)
        self._begin_evidence(self.sizes)
        self._segments.forget_evidence()
        self._compared = 0

    def _weigh_all(self, waiting: list[Weighed]) -> None:
        shown, clicked, crosses = self._arrays_of(waiting)
        self._compared += int(np.count_nonzero(np.count_nonzero(crosses, axis=1) > len(self.sizes)))
        size = len(shown)
        tiered(weigh, weigh.__module__)(self._evidence, self._traffic, shown, clicked, crosses, size=size)
        segments = [UNSAID if outcome.segment is None else outcome.segment for outcome in waiting]
        if any(segment != UNSAID for segment in segments):
            self._segments.weigh(np.array(segments), shown, clicked, crosses)
        if len(self._watch.flips):
            decisions = np.array([outcome.decision for outcome in waiting])
            watch = tiered(watch_outcomes, watch_outcomes.__module__)
            watch(self._watch, shown, clicked, crosses, decisions, size=size)

    in_time: Evidence = _settled("_evidence")  # what clicks that count say about levels
    traffic: Evidence = _settled("_traffic")  # what all outcomes say about how often levels were told
    late: Evidence = _settled("_late")  # what clicks say that came too late to count; of no levels where none did
    segments: Segments = _settled("_segments")
    watch: Watch = _settled("_watch")  # whether there is an alarm in this era
    compared: int = _settled("_compared")  # outcomes of decisions that left something to compare
