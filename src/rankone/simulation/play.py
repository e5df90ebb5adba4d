"""The one loop that plays any policy on a problem. It is compiled once per policy and cached on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
