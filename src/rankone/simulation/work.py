"""One unit of work: some runs of one policy on one problem. It runs here, in a worker process or on a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankone.numerics.compiled import compiled
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.problems import RankOne
from rankone.simulation.play import play


@dataclass(frozen=True)
class Unit:
    """What to play: everything a worker needs, and nothing that depends on where or when it runs."""

    problem: RankOne
    policy: Policy
    checkpoints: npt.NDArray[np.int64]
    seed: int
    runs: range


class Run(NamedTuple):
    """What one run gave: cumulative regret at each checkpoint, and its time without compilation."""

    problem: str
    policy: str
    run: int
    seconds: float
    regret: npt.NDArray[np.float64]


def do(unit: Unit) -> list[Run]:
    """Play a unit's runs. Each run's randomness is named by (seed, problem, policy, run) alone."""
    problem, policy, checkpoints = unit.problem, unit.policy, unit.checkpoints
    ready = policy.with_horizon(int(checkpoints[-1])).for_problem(*problem.best_pairs[0])
    loop = compiled(play, type(policy).__module__)

    def timed(checkpoints: npt.NDArray[np.int64], rng: np.random.Generator) -> tuple[float, npt.NDArray[np.float64]]:
        state = ready.start(problem.n_rows, problem.n_cols)
        regret = np.empty(len(checkpoints))
        begin = time.perf_counter()
        loop(state, problem.rows, problem.cols, problem.best_mean, checkpoints, regret, rng)
        return time.perf_counter() - begin, regret

    timed(checkpoints[:1] * 0 + 1, generator(0))  # one step, to compile or load the loop before any run is timed
    return [
        Run(
            problem.name,
            policy.label,
            run,
            *timed(checkpoints, generator(unit.seed, problem.digest, policy.label, run)),
        )
        for run in unit.runs
    ]
