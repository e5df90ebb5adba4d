"""One unit of work: some runs of one policy on one problem. It runs here, in a worker process or on a cluster."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from rankone._version import __version__
from rankone.compiling.compiled import compile_errors_explained, source_key
from rankone.errors import InputError, WorkerError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.kernels.policy import syncs
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.problems import Problem
from rankone.simulation.feedback import AT_ONCE, Feedback


def versions(*modules: str) -> Mapping[str, str]:
    """What the numbers of a run depend on besides its unit: the versions of the code that plays it.

    A policy or problem of a user's module depends on its sources too; one of a script or notebook travels with the
    unit.
    """
    found = {
        "rankone": __version__,
        "Numba": numba.__version__,
        "NumPy": np.__version__,
        "rankone sources": source_key("rankone"),  # last: other versions make other sources
    }
    for module in modules:
        if module.partition(".")[0] not in ("rankone", "__main__"):
            found[f"{module} sources"] = source_key(module)
    return found


def modules_of(policy: Policy, problem: Problem) -> tuple[str, str]:
    """Return the modules whose sources decide what a policy does on a problem."""
    return type(policy).__module__, type(problem).__module__


@dataclass(frozen=True)
class Unit:
    """What to play: everything a worker needs, and nothing that depends on where or when it runs."""

    problem: Problem
    policy: Policy
    checkpoints: npt.NDArray[np.int64]
    seed: int
    runs: range
    feedback: Feedback = AT_ONCE
    versions: Mapping[str, str] = field(default_factory=versions)


class Run(NamedTuple):
    """What one run gave: cumulative regret at each checkpoint, its time without compilation, synchronisation points."""

    problem: str
    policy: str
    run: int
    seconds: float
    regret: npt.NDArray[np.float64]
    sync_points: int | None = None  # unknown in studies written before they were counted


def ready_for(policy: Policy, problem: Problem, horizon: int) -> Policy:
    """Return the policy with what a study tells it: the horizon, what the problem makes known beforehand (the
    examination of positions, for example), and to a yardstick the best decision.

    Refuses a policy that does not play what the problem asks for.
    """
    policy.check_plays(problem.asks_for, problem.shape, f"the problem {problem.name}")
    if len(problem.forbidden) and not policy.leaves_out:
        expected = f"a policy that can leave out what {problem.name} forbids"
        raise InputError(expected, policy.label, "choose 'uts'")
    ready, best = policy.with_horizon(horizon).with_known(problem.known()), problem.best_decision()
    return ready if best is None else ready.for_problem(*best)


def start_on(policy: Policy, problem: Problem) -> Any:
    """Return the state of a policy before the first decision on a problem; it is told what must not be shown."""
    rules = problem.forbidden
    return policy.start(*problem.shape, forbidden=rules) if len(rules) else policy.start(*problem.shape)


def play_run(
    state: Any,
    problem: Problem,
    checkpoints: npt.NDArray[np.int64],
    rng: np.random.Generator,
    late: Feedback = AT_ONCE,
) -> tuple[npt.NDArray[np.float64], int]:
    """Play a policy's state on a problem; return the regret at each checkpoint, and how often it heard of outcomes."""
    scratch = Scratch.new(problem.layout)
    return play_through(state, problem.start(), late.start(scratch), rng, checkpoints, scratch)


def do(unit: Unit) -> list[Run]:
    """Play a unit's runs. Each run's randomness is named by (seed, problem, policy, run) and late feedback alone."""
    _check_versions(unit)
    problem, policy, checkpoints, late = unit.problem, unit.policy, unit.checkpoints, unit.feedback
    ready = ready_for(policy, problem, int(checkpoints[-1]))

    def timed(
        checkpoints: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[float, npt.NDArray[np.float64], int]:
        state = start_on(ready, problem)
        begin = time.perf_counter()
        regret, with_news = play_run(state, problem, checkpoints, rng, late)
        seconds = time.perf_counter() - begin
        taken_in = syncs(state)
        taken_in = with_news if taken_in < 0 else taken_in
        return seconds, regret, taken_in

    with compile_errors_explained(type(policy).__module__):
        timed(checkpoints[:1] * 0 + 1, generator(0))  # one step, to compile or load the loop before any run is timed
    return [
        Run(
            problem.name,
            policy.label,
            run,
            *timed(checkpoints, generator(*run_name(unit.seed, problem, policy, run, late))),
        )
        for run in unit.runs
    ]


def run_name(seed: int, problem: Problem, policy: Policy, run: int, late: Feedback) -> tuple[Any, ...]:
    """Return what names the random numbers of a run."""
    return (seed, problem.digest, policy.label, run, *(() if late.is_immediate else (late.label,)))


def _check_versions(unit: Unit) -> None:
    """Refuse work from a study of other versions: its numbers would not be those of a local run."""
    here = versions(*modules_of(unit.policy, unit.problem))
    for name, version in unit.versions.items():
        if here.get(name) != version:
            raise WorkerError(
                f"{name} {version} on every worker, as in the study",
                f"{name} {here.get(name)} on {platform.node()}",
                "install the same versions everywhere; what was finished is kept",
            )
