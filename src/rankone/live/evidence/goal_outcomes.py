"""What decisions brought, goal by goal: counts of each level at once, evidence when a decision's window ends.

Outcomes wait until the window of their goal ends, and are weighed in that order (`rankone.evidence.amounts`). Time is
that of the journal's events, so a journal that is read again weighs the same in the same order. Decisions that bring
nothing leave nothing here: only those with an outcome are remembered, and only until their window ends.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.compiling.tiers import tiered
from rankone.evidence.amounts import Amounts, resized_amounts, start_amounts, weigh_amounts
from rankone.evidence.steering import margin_ratio_of_each
from rankone.live.evidence.weighed_outcomes import MAX_LEVELS, fault_text
from rankone.live.goals import UNITS, WINDOW, Goal, goals_of
from rankone.live.journal.packing import unpack_crosses, unpack_shown
from rankone.live.setting_kinds import micros
from rankone.live.settings import Settings
from rankone.numerics.arrays import Floats, moved, starts_of
from rankone.numerics.states import fields_of, state_of

BROUGHT, TOTAL, SQUARES = range(3)  # columns of counts: decisions with an outcome, what they brought, its squares
_MOST_WAITING = 64
_PENDING_BYTES, _CHANCE_BYTES = 400, 4  # of memory for each decision that waits, and for its chance of each level
UNMATCHED, LATE = range(2)  # columns of what is not counted: of visitors without a decision, after the window


class Pending(NamedTuple):
    """What a decision brought so far, until its window ends."""

    units: int
    due: int  # when the window ends
    shown: bytes
    cross: bytes | None
    hidden: tuple[int, ...]  # levels that it is not compared with


def window_of(goal: Goal, settings: Settings) -> int:
    """Return the window of a goal in microseconds; 0: outcomes of the steering goal are weighed when they are told."""
    if goal.name == settings.all_goals[0].name:
        return settings.outcomes.window_micros
    return micros(goal.window or settings.outcomes.window or WINDOW)


class GoalOutcomes:
    """The outcomes of all goals of an experiment; of a yes-no goal that steers, `WeighedOutcomes` has them."""

    def __init__(self, settings: Settings, sizes: tuple[int, ...]) -> None:
        self.goals = goals_of(settings.goals)
        self._settings, self.sizes = settings, sizes
        self.broken: str | None = None
        self.uncounted = np.zeros((len(self.goals), 2), np.int64)
        self.pending: list[dict[int, Pending]] = [{} for _ in self.goals]
        self._ends: list[tuple[int, int, int]] = []  # a heap: when, which decision, which goal
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[list[tuple[Pending, float]]] = [[] for _ in self.goals]
        self.counts: Floats = np.zeros((len(self.goals), sum(self.sizes), 3))
        self._amounts = [start_amounts(self.sizes if self.fits else (), margin) for margin in self._margins()]

    def _margins(self) -> list[float]:
        """Return what a level may lose and still be good enough; only the goal that steers has a winner."""
        own = margin_ratio_of_each(self._settings.stopping.margin, len(self.sizes))
        return [own, *[1.0] * (len(self.goals) - 1)]

    @property
    def fits(self) -> bool:
        """Whether there is room for evidence about each two levels."""
        return sum(self.sizes) <= MAX_LEVELS

    @property
    def steers(self) -> bool:
        """Whether the goal that steers is a count or an amount, so that its evidence is here."""
        return self.goals[0].adds_up and self.fits

    def index(self, name: str) -> int:
        """Return the number of a goal."""
        return next(index for index, goal in enumerate(self.goals) if goal.name == name)

    def add(self, goal: int, decision: int, units: int, told: Pending) -> None:
        """Take in an outcome of a decision, in time: `told` says where it belongs, not how much it is."""
        before = self.pending[goal].get(decision)
        already = 0 if before is None else before.units
        self.pending[goal][decision] = told._replace(units=already + units)
        if before is None:
            heapq.heappush(self._ends, (told.due, decision, goal))
        old, new = self._counts(goal, already), self._counts(goal, already + units)
        self.counts[goal, self._levels(told.shown)] += np.subtract(new, old)

    def void(self, decision: int) -> None:
        """Forget a decision that was never shown."""
        for goal, pending in enumerate(self.pending):
            known = pending.pop(decision, None)
            if known is not None:
                self.counts[goal, self._levels(known.shown)] -= self._counts(goal, known.units)

    def _counts(self, goal: int, units: int) -> tuple[float, float, float]:
        value = self.goals[goal].share(units) * self.goals[goal].cap
        return float(units > 0), value, value**2

    def _levels(self, shown: bytes) -> list[int]:
        levels = unpack_shown(shown, len(self.sizes))
        return [first + level for first, level in zip(starts_of(self.sizes).tolist(), levels, strict=False)]

    def pass_time(self, at: int) -> None:
        """End the windows that are over at a time."""
        while self._ends and self._ends[0][0] <= at:
            _, decision, goal = heapq.heappop(self._ends)
            known = self.pending[goal].pop(decision, None)
            if known is not None and known.cross is not None and self.fits:
                self._waiting[goal].append((known, self.goals[goal].share(known.units)))
                if len(self._waiting[goal]) >= _MOST_WAITING:
                    self._settle(goal)

    @property
    def next_end(self) -> int | None:
        """When the next window ends of a decision that brought something; None: there is none."""
        return self._ends[0][0] if self._ends else None

    def _settle(self, goal: int) -> None:
        """Weigh the outcomes that wait. A fault here stops no decision: nothing is stated any more (`broken`)."""
        waiting, self._waiting[goal] = self._waiting[goal], []
        if not waiting or self.broken:
            return
        try:
            crosses, _ = unpack_crosses([known.cross for known, _ in waiting], self.sizes)
            for row, (known, _) in enumerate(waiting):
                crosses[row, list(known.hidden)] = 0.0
            shown = np.array([self._levels(known.shown) for known, _ in waiting], np.int64)
            values = np.array([value for _, value in waiting])
            weigh = tiered(weigh_amounts, weigh_amounts.__module__)
            weigh(self._amounts[goal], shown, values, crosses, size=len(values))
            if not np.isfinite(self._amounts[goal].proof).all():
                raise FloatingPointError("evidence that is no number")
        except Exception as error:
            self.broken = fault_text(error)
            self._begin()

    def amounts(self, goal: int = 0) -> Amounts:
        """Return what outcomes of a goal say about levels."""
        self._settle(goal)
        return self._amounts[goal]

    def begin_era(self, sizes: tuple[int, ...], forget: bool) -> None:
        """Go on with these levels; `forget`: what was counted before is of another world."""
        every = [self.amounts(goal) for goal in range(len(self.goals))]
        if forget:
            self.pending, self._ends = [{} for _ in self.goals], []
            self._begin()
            every = self._amounts
        starts, new, first = starts_of(sizes), len(sizes) - len(self.sizes), self.sizes[0]
        counts, old, self.sizes = self.counts, moved(starts_of(self.sizes), starts), sizes
        self.counts = np.zeros((len(self.goals), sum(sizes), 3))
        self.counts[:, old] = counts
        if new:  # all decisions so far had the first level of a factor that came later
            self.counts[:, starts[-1 - new : -1]] = counts[:, :first].sum(axis=1, keepdims=True)
        if not self.fits:
            self._amounts = [start_amounts(()) for _ in self.goals]
        else:
            pairs = zip(every, self._margins(), strict=True)
            self._amounts = [resized_amounts(each, sizes, margin) for each, margin in pairs]

    def frozen_copy(self) -> GoalOutcomes:
        """Return a copy of what a report needs, which stays as it is while the experiment goes on."""
        result = copy.copy(self)
        result._amounts = copy.deepcopy([self.amounts(goal) for goal in range(len(self.goals))])
        result._waiting = [[] for _ in self.goals]
        result.counts, result.uncounted = self.counts.copy(), self.uncounted.copy()
        return result

    def arrays(self) -> dict[str, Any]:
        """Return what a snapshot keeps as arrays."""
        each = {f"amounts{goal}": self.amounts(goal) for goal in range(len(self.goals))}
        return {"counts": self.counts, "uncounted": self.uncounted, **fields_of(each)}

    @property
    def nbytes(self) -> int:
        """How much memory this takes, roughly; without settling, as a look at the size changes nothing."""
        waiting = sum(map(len, self.pending)) + sum(map(len, self._waiting))
        each = _PENDING_BYTES + _CHANCE_BYTES * sum(self.sizes)
        known = sum(array.nbytes for amounts in self._amounts for array in amounts)
        return known + int(self.counts.nbytes) + each * waiting

    def facts(self) -> list[Any]:
        """Return what it keeps besides: decisions whose windows are open, by goal, oldest end first."""
        each = ((due, decision, goal) for due, decision, goal in self._ends if decision in self.pending[goal])
        return [[goal, decision, *self.pending[goal][decision]] for _, decision, goal in sorted(each)]

    def restore(self, arrays: Any, facts: Iterable[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self.counts, self.uncounted = arrays["counts"], arrays["uncounted"]
        self._amounts = [state_of(Amounts, arrays, f"amounts{goal}") for goal in range(len(self.goals))]
        for goal, decision, units, due, shown, cross, hidden in facts:
            packed = None if cross is None else bytes.fromhex(cross)
            self.pending[goal][decision] = Pending(units, due, bytes.fromhex(shown), packed, tuple(hidden))
            heapq.heappush(self._ends, (due, decision, goal))


def as_value(units: int) -> float:
    """Return what was told, as whoever told it wrote it."""
    return units / UNITS
