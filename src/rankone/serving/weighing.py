"""The evidence of an experiment, the lottery of its decisions, and when the one changes the other.

All of it is a fold of the journal: outcomes are weighed with the probabilities that were stored with their decisions,
and the lottery is what the last STEER says. So what was decided is never worked out again from evidence, and a newer
program may weigh evidence differently without changing what an older one chose.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.compiled import compiled
from rankone.kernels.evidence import TRAFFIC_RATIOS, Evidence, Floats, Ints, resized, start_evidence, weigh
from rankone.kernels.steering import (
    ERROR_RATE,
    EXPLORE,
    PARTS,
    SAME,
    comparisons,
    goal_of,
    measure_allowed,
    renew,
    spared_by_each,
    start_steering,
)
from rankone.kernels.together import Together, count_all_together, start_together, widened_together
from rankone.kernels.trials import CLICKS_LEFT, TRIAL, mix_evenly, probe_shares
from rankone.kernels.watching import Watch, reversal_bar, reversed_levels, start_watch, watch_outcomes
from rankone.problems.visitors_left import visitors_left
from rankone.serving.factors import Levels, margins
from rankone.serving.packing import unpack_crosses
from rankone.serving.segments import UNSAID, Segments
from rankone.serving.settings import IGNORE, INSURE, RESTART, Settings

MAX_LEVELS = 256  # of all factors together; evidence about each two of more would not fit
_MOST_WAITING = 64  # commits
PROBES = 0.1  # the least share of decisions that explore where an alarm restarts or insures, also after a verdict; and
# the part of all decisions in which any level may be drawn there, beaten or not: what is never shown never rings


class _Outcomes(NamedTuple):
    """Outcomes that wait to be weighed; see `Weighing.weigh`."""

    numbers: Ints
    clicked: Ints
    packed: list[bytes | None]
    hidden: Any
    decisions: Ints
    segments: Any


class Weighing:
    """What clicks have shown so far, and how decisions are drawn from here on."""

    def __init__(
        self,
        settings: Settings,
        factors: Sequence[Levels],
        forbidden: Ints | None = None,
        segments: Segments | None = None,
        misfit: bool = False,
        watches: int = 0,
    ) -> None:
        self._settings, self.sizes = settings, tuple(len(levels.names) for levels in factors)
        self.fits = sum(self.sizes) <= MAX_LEVELS
        sizes = self.sizes if self.fits else (1,) * len(factors)
        self._segments = segments or Segments(sizes)
        self._goal = goal_of(settings.goal, settings.explore)
        self._begin_evidence(sizes)
        self.watches = watches - 1  # watches before the present one
        self.weighed = 0  # outcomes that count
        self._compared = 0  # those of decisions that leave something to compare
        self._waiting: list[_Outcomes] = []  # evidence is looked at now and then: until then, outcomes only wait
        self.begin_era(factors, forbidden, misfit=misfit)

    def _begin_evidence(self, sizes: tuple[int, ...]) -> None:
        spared = spared_by_each(self._settings.margin, len(sizes))
        self._evidence, self._traffic = start_evidence(sizes, spared=spared), start_evidence(sizes, TRAFFIC_RATIOS)
        self._together = start_together(sizes)
        self._watch = start_watch(())

    def begin_era(
        self, factors: Sequence[Levels], forbidden: Ints | None = None, forget: bool = False, misfit: bool = False
    ) -> None:
        """Go on with these levels: what is known stays known, exploration is even again, without what is forbidden.

        `forget`: nothing stays known. `misfit`: that levels are no product is known, and need not be found again.
        """
        self._settle()
        if forget:
            self._begin_evidence(self.sizes if self.fits else (1,) * len(self.sizes))
            self.weighed = self._compared = 0
        before, self.sizes = len(self.sizes), tuple(len(levels.names) for levels in factors)
        self.fits = self.fits and sum(self.sizes) <= MAX_LEVELS
        self._segments.resize(self.sizes)
        if not self.fits:
            self._begin_evidence((1,) * len(factors))
        else:
            self._evidence, self._traffic = (resized(each, self.sizes) for each in (self.evidence, self.traffic))
            self._together = widened_together(self._together, self.sizes)
            if self._settings.margin and len(factors) > before:
                self._spare_less(len(factors))
        self.watches, self._misfit = self.watches + 1, misfit
        on_change, on_misfit = (self.fits and asked != IGNORE for asked in self._asked_for)
        living = [np.array(levels.numbers(), np.int64) for levels in factors]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.live = np.concatenate([numbers + first for numbers, first in zip(living, self.starts, strict=False)])
        scatter = self._watch.scatter  # as long as the sums that it is about
        self._watch = start_watch(
            self.sizes if self.fits else (),
            self.watches,
            on_change,
            on_misfit and not misfit,
            product=not misfit,
            trials=self._settings.on_change == RESTART and self._settings.explore > 0.0,
            live=self.live,
        )
        self._watch.scatter[:] = scatter
        control = None
        if self._settings.control is not None:
            held = [levels.names.index(name) for levels, name in zip(factors, self._settings.control, strict=False)]
            held += [0] * (len(factors) - len(held))  # of factors that came later, the first level
            control = [int(np.searchsorted(numbers, level)) for numbers, level in zip(living, held, strict=True)]
        explore = self._settings.explore if self.fits else 0.0  # without evidence there is nothing to explore for
        sizes = tuple(len(numbers) for numbers in living)
        self.steering = start_steering(sizes, explore, control, self._settings.share, forbidden)
        # Retiring levels by what one has seen picks the comparisons that are left: then all there were are charged.
        kept = sizes == self.sizes
        self.statements = sum(size - 1 if kept else size * (size - 1) // 2 for size in self.sizes)

    def _spare_less(self, n_factors: int) -> None:
        """Prove "good enough" anew: each of more factors may lose less. All else that is known stays known.

        Of a ratio that was not looked at so far nothing is known, so it is the next smaller one that was; if there is
        none, nothing is called good enough any more.
        """
        less = spared_by_each(self._settings.margin, n_factors)
        self._evidence.spared[0] = np.searchsorted(self._evidence.ratios, less, side="right") - 1
        self._evidence.enough[:] = 0.0

    @property
    def _asked_for(self) -> tuple[str, str]:
        return self._settings.on_change, self._settings.on_misfit

    def levels_of_each(self) -> list[Ints]:
        """Return the numbers of the living levels of each factor, as evidence numbers them."""
        return np.split(self.live, self.steering.starts[1:-1])

    @property
    def error(self) -> float:
        """The error rate of statements."""
        return self._settings.auto_stop or ERROR_RATE

    @property
    def bar(self) -> float:
        """The log evidence that each comparison needs for a verdict on all."""
        return math.log(max(1, self.statements) / self.error)

    @property
    def beaten_bar(self) -> float:
        """The log evidence from which on a level is called beaten."""
        return math.log(max(1, comparisons(self.sizes)) / self.error)

    def still(self) -> Weighing:
        """Return a copy of what a report needs, which stays as it is while the experiment goes on."""
        found = copy.copy(self)
        found._evidence, found._traffic = (
            each._replace(**{name: array.copy() for name, array in each._asdict().items()})
            for each in (self.evidence, self.traffic)
        )
        found._together = self._together._replace(sums=self._together.sums.copy())
        found._compared, found._waiting, found._segments = self.compared, [], self._segments.still()
        found.steering = self.steering._replace(
            shares=self.steering.shares.copy(), allowed=self.steering.allowed.copy()
        )
        return found

    def follow(self, details: dict[str, Any]) -> None:
        """Draw decisions as a STEER says."""
        self.steering.mix[:] = np.array(details["mix"]) / PARTS
        self.steering.shares[EXPLORE] = details["explore"]
        measure_allowed(self.steering)

    def weigh(
        self,
        numbers: Ints,
        clicked: Ints,
        packed: list[bytes | None],
        hidden: Any,
        drawn: int,
        decisions: Ints,
        segments: Ints | None = None,
    ) -> None:
        """Learn from outcomes that count.

        Args:
            numbers: the level of each factor, (n, factors).
            clicked: 1 or 0.
            packed: the probabilities of its cross, None: not known.
            hidden: (n, levels) levels that were left out by hand for what they are: they are not compared there.
            drawn: how many are of decisions that a policy made; those after a stop say nothing about it.
            decisions: their numbers.
            segments: of the visitors; None: nobody said anything of any of them.
        """
        self.weighed += drawn
        if self.fits and packed:
            self._waiting.append(_Outcomes(numbers, clicked, packed, hidden, decisions, segments))
            if len(self._waiting) == _MOST_WAITING:
                self._settle()

    def _settle(self) -> None:
        """Weigh the outcomes that wait, in the order they came."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        crosses, _ = unpack_crosses([cross for some in waiting for cross in some.packed], self.sizes)
        if any(some.hidden is not None for some in waiting):
            nothing = np.zeros(crosses.shape[1], bool)
            hidden = [some.hidden if some.hidden is not None else [nothing] * len(some.packed) for some in waiting]
            crosses[np.concatenate(hidden)] = 0.0
        shown = np.concatenate([some.numbers for some in waiting]) + self.starts[:-1]
        clicked = np.concatenate([some.clicked for some in waiting])
        self._compared += int(np.count_nonzero(np.count_nonzero(crosses, axis=1) > len(self.sizes)))
        compiled(weigh, weigh.__module__)(self._evidence, self._traffic, shown, clicked, crosses)
        if any(some.segments is not None for some in waiting):
            each = [some.segments if some.segments is not None else [UNSAID] * len(some.packed) for some in waiting]
            self._segments.weigh(np.concatenate(each).astype(np.int64), shown, clicked, crosses)
        if len(self._together.sums):
            compiled(count_all_together, count_all_together.__module__)(self._together, shown, clicked, crosses)
        if len(self._watch.flips):
            decisions = np.concatenate([some.decisions for some in waiting])
            compiled(watch_outcomes, watch_outcomes.__module__)(self._watch, shown, clicked, crosses, decisions)

    @property
    def evidence(self) -> Evidence:
        """What clicks say about levels."""
        self._settle()
        return self._evidence

    @property
    def traffic(self) -> Evidence:
        """What all outcomes say about how often levels were told."""
        self._settle()
        return self._traffic

    @property
    def segments(self) -> Segments:
        """What is known of each segment."""
        self._settle()
        return self._segments

    @property
    def watch(self) -> Watch:
        """Whether something rang in this era."""
        self._settle()
        return self._watch

    @property
    def together(self) -> Together:
        """What clicks say about levels beside levels of other factors."""
        self._settle()
        return self._together

    def turned_over(self, restarts: int) -> tuple[int, int] | None:
        """Return two levels, numbered factor after factor, the second of which now beats the first; None: no two do."""
        if not self.fits or self._settings.on_change == IGNORE:
            return None
        bar = reversal_bar(self.sizes, restarts)
        first, second = compiled(reversed_levels, reversed_levels.__module__)(self.evidence, bar)
        return (first, second) if first >= 0 else None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All that is known, to see how large it is."""
        return (*self._evidence, *self._traffic, *self.steering, *self._watch, *self._together, self._segments)

    @property
    def compared(self) -> int:
        """Outcomes of decisions that left something to compare."""
        self._settle()
        return self._compared

    def restore(self, known: Sequence[Any], facts: list[int]) -> None:
        """Go on from what a snapshot holds: evidence, traffic, steering, watch, levels together; and `facts`."""
        self._evidence, self._traffic, self.steering, self._watch, self._together = known
        self.weighed, self._compared, self.watches = facts

    @property
    def facts(self) -> list[int]:
        """What a snapshot keeps besides arrays."""
        return [self.weighed, self.compared, self.watches]

    def full_cross(self, cross: Floats) -> Floats:
        """Return the probabilities of the living levels with zeros for the others."""
        if len(cross) == sum(self.sizes):
            return cross
        found = np.zeros(sum(self.sizes))
        found[self.live] = cross
        return found

    def leaders(self, asked: Ints) -> tuple[tuple[int, ...], bool]:
        """Return the level of each factor (among the living ones) that leads, and whether they won.

        Args:
            asked: decisions of each combination of all levels.
        """
        found, won = self._renewed(asked)[2:]
        return tuple((found - self.steering.starts[:-1]).tolist()), won

    def visitors_left(self, asked: Ints) -> tuple[int, int] | None:
        """Return from how many to how many visitors a verdict still needs; None: nobody can say.

        The guess rests on exploration that goes on as it did: there is none where that shrinks or never was.
        """
        if not self.fits or not self.steering.shares[EXPLORE] or math.isfinite(self._goal.patience):
            return None
        found = self._renewed(asked)[2]
        return visitors_left(self.evidence, self.live, self.steering.starts, found, self.bar, self.weighed)

    def turn(self, asked: Ints) -> str | None:
        """Return the note of a STEER, if decisions should be drawn differently by now; None: they stay as they are."""
        if not self.fits or not self._settings.explore:
            return None
        details, turned, _, _ = self._renewed(asked)
        return json.dumps(details, separators=(",", ":")) if turned else None

    def steer(self, asked: Ints) -> dict[str, Any] | None:
        """Return how decisions should be drawn by now, as a STEER says it; None: the policy runs alone."""
        return self._renewed(asked)[0] if self.fits and self._settings.explore else None

    def _renewed(self, asked: Ints) -> tuple[dict[str, Any], bool, Ints, bool]:
        """Return the details of a STEER that fits by now, if that is worth a change, who leads, and if they won."""
        shown = margins(asked)[self.live].astype(float)
        mix, found = np.empty(len(self.live)), np.zeros(len(self.sizes), np.int64)
        turned, explore, won = compiled(renew, renew.__module__)(
            self.evidence, self.live, self.steering, shown, self.bar, self.beaten_bar, self._goal, mix, found
        )
        insures = self._settings.on_misfit == INSURE and not self._misfit
        if self._settings.explore and (self._settings.on_change == RESTART or insures):
            explore, part = probe_shares(explore, PROBES, TRIAL if self.watch.trial[CLICKS_LEFT] else 0.0)
            mix_evenly(mix, self.steering.starts, part)
            apart = float(np.abs(mix / PARTS - self.steering.mix).max())
            turned = apart >= SAME or self.steering.shares[EXPLORE] != explore
        return {"explore": explore, "mix": [int(part) for part in mix]}, bool(turned), found, bool(won)
