"""The loop that plays any policy with outcomes that come late: `rankone.simulation.play` with a calendar in between."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.numerics.calendar import Records, drop_first, enter
from rankone.policies.kernels import choose, settled, update
from rankone.problems import RankOne
from rankone.simulation.feedback import Feedback
from rankone.simulation.play import Floats, Ints

# Fields of an open decision in the calendar, and of the clock of `play_late`.
DUE, NUMBER, ROW, COL, TAG, REWARD = range(6)
STEP, PLACE, NEWS, OPEN = range(4)


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
    calendar: Records,
    clock: Ints,
    total: Floats,
) -> bool:
    """Play like `play`, with outcomes that come late (see `rankone.simulation.feedback`).

    Without delay it draws the same random numbers as `play` and so gives the same regret, bit for bit. Compiled loops
    make no arrays: where the calendar is full this one returns False, to be called again with a larger one. `clock` and
    `total` hold where it was: the step, the checkpoint, how many decisions came after news, how many are open, regret.
    """
    # D = floor(log(U) * scale) is geometric with P(D >= d) = (m / (1 + m))^d, m the mean.
    scale = -1.0 / math.log1p(1.0 / delay_mean) if delay_mean > 0.0 else 0.0
    step, n_open, regret = clock[STEP], clock[OPEN], total[0]
    for place in range(clock[PLACE], len(checkpoints)):
        while step < checkpoints[place]:
            if n_open == len(calendar):
                clock[STEP], clock[PLACE], clock[OPEN], total[0] = step, place, n_open, regret
                return False
            news = 0
            while n_open > 0 and calendar[0, DUE] < step:
                update(state, calendar[0, ROW], calendar[0, COL], calendar[0, TAG], calendar[0, REWARD])
                drop_first(calendar, n_open)
                n_open -= 1
                news = 1
            clock[NEWS] += news
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
                enter(calendar, n_open, (due, step, row, col, tag, reward))
                n_open += 1
            step += 1
        regrets[place] = regret
    return True


def drive(
    loop: Callable[..., bool],
    late: Feedback,
    state: Any,
    problem: RankOne,
    checkpoints: Ints,
    regrets: Floats,
    rng: Any,
) -> int:
    """Run the compiled `play_late` to the end; return the number of decisions that came after a new outcome."""
    calendar, clock, total = np.empty((1024, 6), np.int64), np.zeros(4, np.int64), np.zeros(1)
    world = (problem.rows, problem.cols, problem.best_mean)
    delays = (late.steps, float(late.mean), late.size)
    while not loop(state, *world, checkpoints, regrets, rng, *delays, calendar, clock, total):
        calendar = np.concatenate([calendar, np.empty_like(calendar)])
    return int(clock[NEWS])
