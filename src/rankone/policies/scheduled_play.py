"""Playing a policy once more, on any table of click rates and along a given order of questions and outcomes.

A study plays a rank-1 problem and keeps regret. This keeps what was shown and clicked, the rates need not be a product,
and the order in which outcomes come back may be that of a live experiment: the check of the rank-1 assumption plays the
experiment again in a world where the assumption holds.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from rankone.kernels.decision import Layout
from rankone.kernels.feedback import Late, Scratch
from rankone.kernels.play import play_through
from rankone.kernels.world import loss, move, respond
from rankone.numerics.arrays import Floats, Ints
from rankone.policies.advance import ASK, LEARN
from rankone.policies.base import Policy

_NEVER = 2**62


class Schedule(NamedTuple):
    """In which order decisions are asked for and come back: an event each, with the number of its decision from 0."""

    what: Ints  # ASK, LEARN or VOID
    decision: Ints

    @classmethod
    def at_once(cls, decisions: int) -> Self:
        """Every outcome is known before the next decision."""
        return cls(np.tile([ASK, LEARN], decisions), np.repeat(np.arange(decisions), 2))

    def due(self) -> tuple[Ints, Ints]:
        """Return when each decision is due, with its place among those due together, and whether it has an outcome."""
        asked = np.cumsum(self.what == ASK)
        closing = np.flatnonzero(self.what != ASK)
        due = np.full((int(asked[-1]) if len(asked) else 0, 2), _NEVER)
        learned = np.zeros(len(due), np.int64)
        due[self.decision[closing]] = np.stack([asked[closing] - 1, closing], axis=1)
        learned[self.decision[closing]] = self.what[closing] == LEARN
        return due, learned


class TableWorld(NamedTuple):
    """Visitors who click by a table of rates; what was shown and clicked is counted, the way it will be observed."""

    rates: Floats  # (K, L)
    learned: Ints  # (decisions,) whether the outcome of each decision is ever seen
    asked: Ints  # (K, L)
    pulls: Ints  # (K, L)
    clicks: Ints  # (K, L)
    number: Ints  # (1,) of this decision


@move.register(TableWorld)
def _move(world: TableWorld, step: int, rng: Any) -> None:
    world.number[0] = step


@respond.register(TableWorld)
def _respond(world: TableWorld, shown: Any, outcome: Any, rng: Any) -> bool:
    row, col, number = shown[0], shown[1], world.number[0]
    world.asked[row, col] += 1
    if not world.learned[number]:
        return False
    outcome[0] = 1 if rng.random() < world.rates[row, col] else 0
    world.pulls[row, col] += 1
    world.clicks[row, col] += outcome[0]
    return True


@loss.register(TableWorld)
def _loss(world: TableWorld, shown: Any) -> float:
    return 0.0


def replay_schedule(
    policy: Policy, rates: Floats, schedule: Schedule, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Play a policy where pair (i, j) is clicked with probability ``rates[i, j]``.

    Returns decisions, outcomes and clicks of every pair, (K, L) arrays each.

    >>> from rankone.policies.factors.unimodal.uts import UTS
    >>> rates = np.array([[0.9, 0.1], [0.1, 0.2]])
    >>> asked, pulls, clicks = replay_schedule(UTS(), rates, Schedule.at_once(500), np.random.default_rng(1))
    >>> int(asked.sum()), bool((pulls == asked).all()), tuple(np.argwhere(asked == asked.max())[0].tolist())
    (500, True, (0, 0))
    """
    policy.check_kind("pair", rates.shape, "a table of click rates")
    due, learned = schedule.due()
    asked, pulls, clicks = (np.zeros(rates.shape, np.int64) for _ in range(3))
    world = TableWorld(np.ascontiguousarray(rates), learned, asked, pulls, clicks, np.zeros(1, np.int64))
    if len(due):
        scratch = Scratch.new(Layout.of("pair", rates.shape))
        late, end = Late.new(scratch, schedule=due), np.array([len(due)])
        play_through(policy.start(*rates.shape), world, late, rng, end, scratch)
    return asked, pulls, clicks
