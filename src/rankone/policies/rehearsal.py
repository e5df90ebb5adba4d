"""Playing a policy once more, on any table of click rates and along a given order of questions and outcomes.

A study plays a rank-1 problem and keeps regret. This keeps what was shown and clicked, the rates need not be a product,
and the order in which outcomes come back may be that of a live experiment: the check of the rank-1 assumption plays the
experiment again in a world where the assumption holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.compiled import compiled
from rankone.policies.base import Policy
from rankone.policies.kernels import choose, update, void
from rankone.policies.live import ASK, LEARN, VOID

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Schedule(NamedTuple):
    """In which order decisions are asked for and come back: an event each, with the number of its decision from 0."""

    what: Ints  # ASK, LEARN or VOID
    decision: Ints

    @classmethod
    def at_once(cls, decisions: int) -> Schedule:
        """Every outcome is known before the next decision."""
        return cls(np.tile([ASK, LEARN], decisions), np.repeat(np.arange(decisions), 2))

    @classmethod
    def in_batches(cls, decisions: int, size: int) -> Schedule:
        """Outcomes come when a batch of `size` decisions is complete.

        >>> Schedule.in_batches(3, 2).decision.tolist()
        [0, 1, 0, 1, 2, 2]
        """
        batches = [np.arange(first, min(first + size, decisions)) for first in range(0, decisions, size)]
        what = [np.repeat([ASK, LEARN], len(batch)) for batch in batches]
        return cls(np.concatenate(what), np.concatenate([np.tile(batch, 2) for batch in batches]))


def rehearse(policy: Policy, rates: Floats, schedule: Schedule, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Play a policy where pair (i, j) is clicked with probability ``rates[i, j]``.

    Returns decisions, outcomes and clicks of every pair, (K, L) arrays each.

    >>> from rankone.policies.uts import UTS
    >>> rates = np.array([[0.9, 0.1], [0.1, 0.2]])
    >>> asked, pulls, clicks = rehearse(UTS(), rates, Schedule.at_once(500), np.random.default_rng(1))
    >>> int(asked.sum()), bool((pulls == asked).all()), tuple(np.argwhere(asked == asked.max())[0].tolist())
    (500, True, (0, 0))
    """
    state = policy.start(*rates.shape)
    chosen = np.zeros((int(schedule.decision.max(initial=-1)) + 1, 3), np.int64)
    asked, pulls, clicks = (np.zeros(rates.shape, np.int64) for _ in range(3))
    play = compiled(play_along, type(policy).__module__)
    play(state, rng, np.ascontiguousarray(rates), schedule.what, schedule.decision, chosen, asked, pulls, clicks)
    return asked, pulls, clicks


def play_along(
    state: Any, rng: Any, rates: Floats, what: Ints, decision: Ints, chosen: Ints,
    asked: Ints, pulls: Ints, clicks: Ints,
) -> None:  # fmt: skip
    """Move the policy over a schedule; count what it chose and what was clicked (compiled)."""
    for place in range(len(what)):
        number = decision[place]
        if what[place] == ASK:
            row, col, tag = choose(state, rng)
            chosen[number, 0], chosen[number, 1], chosen[number, 2] = row, col, tag
            asked[row, col] += 1
            continue
        row, col, tag = chosen[number, 0], chosen[number, 1], chosen[number, 2]
        if what[place] == LEARN:
            reward = 1 if rng.random() < rates[row, col] else 0
            pulls[row, col] += 1
            clicks[row, col] += reward
            if tag >= 0:  # nothing is learned from a filler
                update(state, row, col, tag, reward)
        elif what[place] == VOID:
            void(state, row, col, tag)
