"""When a policy hears of its outcomes, where that is not at once: late, or in batches.

The loop that plays lets `deliver` tell the policy what is due before each decision, and `file` keep what came of it.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from rankone.compiling.compiled import inlined, noalloc
from rankone.kernels.decision import Layout
from rankone.kernels.policy import learn, withdraw
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.structures.trees import drop_first, enter_last

# Where a run is: the step, the checkpoint, how many decisions came after news, how many are open; the step to pause at.
RUN_STEP, RUN_POINT, RUN_NEWS, RUN_OPEN, RUN_PAUSE = range(5)


class Scratch(NamedTuple):
    """The arrays that a run works on, made beforehand: compiled loops make none."""

    shown: Ints
    outcome: Ints
    context: Floats
    counters: Ints  # (5,) where the run is
    regret: Floats  # (1,) so far

    @classmethod
    def new(cls, layout: Layout) -> Self:
        """Return the arrays before the first decision, for decisions laid out so."""
        shown, outcome, counters = (np.zeros(size, np.int64) for size in (layout.shown, layout.outcome, 5))
        return cls(shown, outcome, np.zeros(layout.context), counters, np.zeros(1))


# Fields of an open decision: when it is due, which comes first of those due together, its tag, whether its outcome is
# ever seen; behind these what was shown and what came of it.
LATE_DUE, LATE_ORDER, LATE_TAG, LATE_SEEN, LATE_SHOWN = range(5)
_ROOM = 1024  # open decisions, to begin with


class Late(NamedTuple):
    """Outcomes wait. That of decision t is due ``steps`` decisions later, plus a geometric number of a given mean, and
    then waits for the end of its batch of ``size``."""

    timing: Ints  # (2,) steps, size
    mean: Floats  # (1,)
    waiting: Ints  # open decisions, the first due on top

    @classmethod
    def new(cls, scratch: Scratch, steps: int = 0, mean: float = 0.0, size: int = 1) -> Self:
        """Return feedback for a run on these arrays."""
        waiting = np.empty((_ROOM, LATE_SHOWN + len(scratch.shown) + len(scratch.outcome)), np.int64)
        return cls(np.array([steps, size]), np.array([mean]), waiting)

    def with_room(self) -> Self:
        """Return the same with room for as many open decisions again."""
        return self._replace(waiting=np.concatenate([self.waiting, np.empty_like(self.waiting)]))


@inlined
def deliver(feedback: Late, state: Any, step: int, scratch: Any) -> bool:
    """Tell the policy every outcome that is due before this step; False if no other decision can be filed."""
    counters, waiting = scratch.counters, feedback.waiting
    if counters[RUN_OPEN] == len(waiting):
        return False
    if counters[RUN_OPEN] > 0 and waiting[0, LATE_DUE] < step:
        counters[RUN_NEWS] += 1
        while counters[RUN_OPEN] > 0 and waiting[0, LATE_DUE] < step:
            deliver_first(state, waiting, scratch)
    return True


@noalloc
def deliver_first(state: Any, waiting: Ints, scratch: Any) -> None:
    """Tell the policy the outcome on top."""
    shown, outcome = scratch.shown, scratch.outcome
    for index in range(len(shown)):
        shown[index] = waiting[0, LATE_SHOWN + index]
    for index in range(len(outcome)):
        outcome[index] = waiting[0, LATE_SHOWN + len(shown) + index]
    if waiting[0, LATE_SEEN]:
        learn(state, shown, waiting[0, LATE_TAG], outcome)
    else:
        withdraw(state, shown, waiting[0, LATE_TAG])
    drop_first(waiting, scratch.counters[RUN_OPEN])
    scratch.counters[RUN_OPEN] -= 1


@inlined
def file(feedback: Late, step: int, tag: int, seen: bool, rng: Any, scratch: Any) -> None:
    """Take what was shown and what came of it until it is time."""
    due, size = step + feedback.timing[0], feedback.timing[1]
    if feedback.mean[0] > 0.0:  # floor(log(U) * scale) is geometric with P(D >= d) = (m / (1 + m))^d, m the mean
        due += int(math.log1p(-rng.random()) * (-1.0 / math.log1p(1.0 / feedback.mean[0])))
    due += size - 1 - due % size
    if tag >= 0:  # nothing is learned from a filler
        note(feedback.waiting, scratch, due, step, tag, seen)


@noalloc
def note(waiting: Ints, scratch: Any, due: int, order: int, tag: int, seen: bool) -> None:
    """Enter an open decision."""
    index, n_shown = scratch.counters[RUN_OPEN], len(scratch.shown)
    waiting[index, LATE_DUE], waiting[index, LATE_ORDER] = due, order
    waiting[index, LATE_TAG], waiting[index, LATE_SEEN] = tag, seen
    for part in range(n_shown):
        waiting[index, LATE_SHOWN + part] = scratch.shown[part]
    for part in range(len(scratch.outcome)):
        waiting[index, LATE_SHOWN + n_shown + part] = scratch.outcome[part]
    enter_last(waiting, index)
    scratch.counters[RUN_OPEN] += 1
