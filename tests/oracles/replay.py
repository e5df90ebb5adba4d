"""Play a state and write down every pair it chooses; all randomness from one generator, in a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.compiling.compiled import compiled
from rankone.kernels.policy import decide, learn

Ints = npt.NDArray[np.int64]


def _replay(state: Any, means: Any, pairs: Any, shown: Any, outcome: Any, rng: Any) -> None:
    for step in range(len(pairs)):
        tag = decide(state, outcome, rng, shown)
        pairs[step] = shown[0] * means.shape[1] + shown[1]
        outcome[0] = 1 if rng.random() < means[shown[0], shown[1]] else 0
        learn(state, shown, tag, outcome)


def _replay_late(state: Any, means: Any, pairs: Any, waiting: Any, shown: Any, outcome: Any, rng: Any) -> None:
    """Outcomes wait; after each decision some arrive, in random order, all of them when `waiting` is full."""
    n_waiting = 0
    for step in range(len(pairs)):
        tag = decide(state, outcome, rng, shown)
        pairs[step] = shown[0] * means.shape[1] + shown[1]
        waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2] = shown[0], shown[1], tag
        n_waiting += 1
        full = n_waiting == len(waiting)
        while n_waiting > 0 and (full or rng.random() < 0.45):
            place = int(rng.random() * n_waiting)
            shown[0], shown[1], tag = waiting[place, 0], waiting[place, 1], waiting[place, 2]
            outcome[0] = 1 if rng.random() < means[shown[0], shown[1]] else 0
            learn(state, shown, tag, outcome)
            n_waiting -= 1
            for field in range(3):
                waiting[place, field] = waiting[n_waiting, field]


def replay(state: Any, means: Any, steps: int, rng: np.random.Generator, most_waiting: int = 0) -> Ints:
    """The pairs chosen in so many steps; with `most_waiting`, outcomes come late and in random order."""
    pairs, shown, outcome = np.zeros(steps, np.int64), np.zeros(2, np.int64), np.zeros(1, np.int64)
    if most_waiting:
        waiting = np.zeros((most_waiting, 3), np.int64)
        compiled(_replay_late, type(state).__module__)(state, means, pairs, waiting, shown, outcome, rng)
    else:
        compiled(_replay, type(state).__module__)(state, means, pairs, shown, outcome, rng)
    return pairs
