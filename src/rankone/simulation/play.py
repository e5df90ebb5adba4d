"""The loops that play any policy on a problem: outcomes at once, or late. Compiled once per policy, cached on disk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rankone.numerics.calendar import drop_first, enter
from rankone.policies.kernels import choose, settled, update

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def play(
    state: Any,
    rows: Floats,
    cols: Floats,
    best_mean: float,
    checkpoints: Ints,
    regrets: Floats,
    rng: np.random.Generator,
) -> None:
    """Play up to the last checkpoint; fill `regrets` with the cumulative pseudo-regret at each checkpoint.

    Pseudo-regret adds the gap of the chosen pair's mean, not of its random reward. Once a policy is settled its
    remaining regret is arithmetic.
    """
    regret = 0.0
    step = 0
    for place in range(len(checkpoints)):
        while step < checkpoints[place]:
            row, col, tag = choose(state, rng)
            mean = rows[row] * cols[col]
            if settled(state):
                regret += (checkpoints[place] - step) * (best_mean - mean)
                step = checkpoints[place]
                break
            update(state, row, col, tag, 1 if rng.random() < mean else 0)
            regret += best_mean - mean
            step += 1
        regrets[place] = regret


# Fields of an open decision in the calendar of `play_late`.
DUE, NUMBER, ROW, COL, TAG, REWARD = range(6)


def play_late(
    state: Any,
    rows: Floats,
    cols: Floats,
    best_mean: float,
    checkpoints: Ints,
    regrets: Floats,
    rng: np.random.Generator,
    delay_steps: int,
    delay_mean: float,
    batch_size: int,
) -> int:
    """Play like `play`, with outcomes that come late (see `rankone.simulation.feedback`).

    Without delay it draws the same random numbers as `play` and so gives the same regret, bit for bit.

    Returns:
        the number of decisions before which an outcome had come since the decision before.
    """
    regret = 0.0
    step = with_news = n_open = 0
    # D = floor(log(U) * scale) is geometric with P(D >= d) = (m / (1 + m))^d, m the mean.
    scale = -1.0 / math.log1p(1.0 / delay_mean) if delay_mean > 0.0 else 0.0
    calendar = np.empty((64, 6), np.int64)
    for place in range(len(checkpoints)):
        while step < checkpoints[place]:
            news = 0
            while n_open > 0 and calendar[0, DUE] < step:
                update(state, calendar[0, ROW], calendar[0, COL], calendar[0, TAG], calendar[0, REWARD])
                drop_first(calendar, n_open)
                n_open -= 1
                news = 1
            with_news += news
            row, col, tag = choose(state, rng)
            mean = rows[row] * cols[col]
            if settled(state):
                regret += (checkpoints[place] - step) * (best_mean - mean)
                step = checkpoints[place]
                break
            reward = 1 if rng.random() < mean else 0
            regret += best_mean - mean
            due = step + delay_steps
            if delay_mean > 0.0:
                due += int(math.log1p(-rng.random()) * scale)
            due += batch_size - 1 - due % batch_size
            if tag >= 0:  # nothing is learned from a filler
                calendar = enter(calendar, n_open, (due, step, row, col, tag, reward))
                n_open += 1
            step += 1
        regrets[place] = regret
    return with_news
