"""One unit of work: some runs of one policy on one problem. It runs here, in a worker process or on a cluster."""

from __future__ import annotations

import functools
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
    problem, policy = unit.problem, unit.policy
    ready = policy.with_horizon(int(unit.checkpoints[-1])).for_problem(*problem.best_pairs[0])
    _warm_up(ready)
    results = []
    for run in unit.runs:
        rng = generator(unit.seed, problem.digest, policy.label, run)
        state = ready.start(problem.n_rows, problem.n_cols)
        regret = np.empty(len(unit.checkpoints))
        begin = time.perf_counter()
        _player(ready)(state, problem.rows, problem.cols, problem.best_mean, unit.checkpoints, regret, rng)
        results.append(Run(problem.name, policy.label, run, time.perf_counter() - begin, regret))
    return results


def _player(policy: Policy):  # type: ignore[no-untyped-def]
    return compiled(play, type(policy).__module__)


@functools.cache
def _warm_up(policy: Policy) -> None:
    """Compile (or load) the policy's loop before any run is timed."""
    tiny = RankOne([0.5], [0.5])  # its arrays are read-only, as every problem's: that is part of the compiled type
    _player(policy)(policy.start(1, 1), tiny.rows, tiny.cols, 0.25, np.array([1]), np.empty(1), generator(0))
