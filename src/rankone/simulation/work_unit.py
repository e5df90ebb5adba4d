"""Units of work, some runs of one policy on one problem each: what they do, and how long they should be."""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numba
import numpy as np

from rankone._version import __version__
from rankone.compiling.compiled import compile_errors_explained
from rankone.compiling.sources import source_key
from rankone.errors import InputError, WorkerError
from rankone.kernels.feedback import Scratch
from rankone.kernels.play import play_through
from rankone.kernels.policy import syncs
from rankone.numerics.arrays import Floats, Ints
from rankone.numerics.seeds import generator
from rankone.policies import Policy
from rankone.problems import Problem
from rankone.simulation.feedback import AT_ONCE, Feedback


def versions(*modules: str) -> Mapping[str, str]:
    """What the numbers of a run depend on besides its unit: versions, and a user's modules, of the code that plays."""
    result = {
        "rankone": __version__,
        "Numba": numba.__version__,
        "NumPy": np.__version__,
        "rankone sources": source_key("rankone"),  # last: other versions make other sources
    }
    for module in modules:
        if module.partition(".")[0] not in ("rankone", "__main__"):
            result[f"{module} sources"] = source_key(module)
    return result


def modules_of(policy: Policy, problem: Problem) -> tuple[str, str]:
    """Return the modules whose sources decide what a policy does on a problem."""
    return type(policy).__module__, type(problem).__module__


@dataclass(frozen=True)
class Unit:
    """What to play: everything a worker needs, and nothing that depends on where or when it runs."""

    problem: Problem
    policy: Policy
    checkpoints: Ints
    seed: int
    runs: range
    feedback: Feedback = AT_ONCE
    paired: bool = False
    versions: Mapping[str, str] = field(default_factory=versions)


class Run(NamedTuple):
    """What one run gave: cumulative regret at each checkpoint, its time without compilation, synchronisation points."""

    problem: str
    policy: str
    run: int
    seconds: float
    regret: Floats
    sync_points: int | None = None  # unknown in studies written before they were counted


def ready_for(policy: Policy, problem: Problem, horizon: int) -> Policy:
    """Return the policy with what a study tells it: the horizon, what the problem makes known beforehand, and to a
    yardstick the best decision. Refuses a policy that does not play what the problem asks for.
    """
    policy.check_kind(problem.decision_kind, problem.shape, f"the problem {problem.name}")
    if len(problem.forbidden) and not policy.supports_forbidden:
        expected = f"a policy that can leave out what {problem.name} forbids"
        raise InputError(expected, policy.label, "choose 'uts'")
    known, best = problem.known(), problem.best_decision()
    if "unit" in known and policy.clicks_only:
        expected = f"a policy that learns from payoffs, as {problem.name} gives them"
        raise InputError(expected, f"{policy.label}, which learns from clicks", "choose 'mixture-linear-ts'")
    ready = policy.with_horizon(horizon).with_known(known)
    return ready if best is None else ready.for_problem(*best)


def start_on(policy: Policy, problem: Problem) -> Any:
    """Return the state of a policy before the first decision on a problem; it is told what must not be shown."""
    rules = problem.forbidden
    return policy.start(*problem.shape, forbidden=rules) if len(rules) else policy.start(*problem.shape)


def play_run(
    state: Any,
    problem: Problem,
    checkpoints: Ints,
    rng: np.random.Generator,
    late: Feedback = AT_ONCE,
    luck: np.random.Generator | None = None,
) -> tuple[Floats, int]:
    """Play a policy's state on a problem; return the regret at each checkpoint, and how often it heard of outcomes."""
    scratch = Scratch.new(problem.layout)
    return play_through(state, problem.start(), late.start(scratch), rng, checkpoints, scratch, luck)


def do(unit: Unit) -> list[Run]:
    """Play a unit's runs. Each run's randomness is named by (seed, problem, policy, run) and late feedback alone; in a
    paired study the world's by (seed, problem, run).
    """
    _check_versions(unit)
    problem, policy, checkpoints, late = unit.problem, unit.policy, unit.checkpoints, unit.feedback
    ready = ready_for(policy, problem, int(checkpoints[-1]))

    def timed(checkpoints: Ints, rng: np.random.Generator, run: int) -> tuple[float, Floats, int]:
        luck = luck_of(unit.seed, problem, run) if unit.paired else None
        state = start_on(ready, problem)
        begin = time.perf_counter()
        regret, with_news = play_run(state, problem, checkpoints, rng, late, luck)
        seconds = time.perf_counter() - begin
        counted = syncs(state)
        return seconds, regret, with_news if counted < 0 else counted

    with compile_errors_explained(type(policy).__module__):
        timed(checkpoints[:1] * 0 + 1, generator(0), 0)  # one step, to compile or load the loop before any run is timed
    names = {run: run_name(unit.seed, problem, policy, run, late) for run in unit.runs}
    return [
        Run(problem.name, policy.label, run, *timed(checkpoints, generator(*name), run)) for run, name in names.items()
    ]


def run_name(seed: int, problem: Problem, policy: Policy, run: int, late: Feedback) -> tuple[Any, ...]:
    """Return what names the random numbers of a run."""
    return (seed, problem.digest, policy.label, run, *(() if late.is_immediate else (late.label,)))


def luck_of(seed: int, problem: Problem, run: int) -> np.random.Generator:
    """Return the random numbers of a world in a paired study, the same for every policy."""
    return generator(seed, problem.digest, "the world's luck", run)


def _check_versions(unit: Unit) -> None:
    """Refuse work from a study of other versions: its numbers would not be those of a local run."""
    here = versions(*modules_of(unit.policy, unit.problem))
    for name, version in unit.versions.items():
        if here.get(name) != version:
            expected, got = f"{name} {version} on every worker, as in the study", f"{name} {here.get(name)}"
            do = "install the same versions everywhere; what was finished is kept"
            raise WorkerError(expected, f"{got} on {platform.node()}", do)


# A unit of work should take about this long.
_UNIT_SECONDS = 1.0


class Units:
    """Deals out units of work, each about `_UNIT_SECONDS` long by what earlier runs of its kind took.

    `missing` are the runs still to do, in increasing order, by names of problem and policy.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        policies: Sequence[Policy],
        steps: Ints,
        feedback: Feedback,
        seed: int,
        missing: dict[tuple[str, str], list[int]],
        paired: bool,
    ) -> None:
        self._kinds = [
            (world, player) for world in problems for player in policies if missing[world.name, player.label]
        ]
        alike: dict[tuple[type, type], tuple[Problem, Policy]] = {}
        for world, player in self._kinds:
            alike.setdefault((type(world), type(player)), (world, player))
        self.to_compile = list(alike.values())  # one of each kind that is compiled for itself, not dealt out yet
        self._missing = missing
        self._steps, self._feedback, self._seed, self._paired = steps, feedback, seed, paired
        self.horizon = int(steps[-1])
        self._taken: dict[tuple[str, str], tuple[int, float]] = {}  # runs done and their seconds

    def next(self, parallel: int) -> Unit | None:
        """Return the next unit, None when every run is dealt out; `parallel` workers should all get a share."""
        kind = self._next_kind(parallel)
        if kind is None:
            return None
        world, player = kind
        self.to_compile = [each for each in self.to_compile if tuple(map(type, each)) != (type(world), type(player))]
        left = self._missing[world.name, player.label]
        done, seconds = self._taken.get((world.name, player.label), (0, 0.0))
        size = int(_UNIT_SECONDS * done / max(1e-6 * done, seconds)) if done else 1
        size = max(1, min(size, -(-len(left) // parallel)))
        first, count = left[0], 1
        while count < min(size, len(left)) and left[count] == first + count:  # a stored study may have holes
            count += 1
        del left[:count]
        code = versions(*modules_of(player, world))
        runs = range(first, first + count)
        return Unit(world, player, self._steps, self._seed, runs, self._feedback, self._paired, code)

    def _next_kind(self, parallel: int) -> tuple[Problem, Policy] | None:
        """Return whose turn it is; with many workers first one of each that is compiled for itself, so that they do not
        all wait for the same."""
        while parallel > 1 and self.to_compile:
            world, player = self.to_compile.pop(0)
            if self._missing[world.name, player.label]:
                return world, player
        while self._kinds:
            world, player = self._kinds[0]
            if self._missing[world.name, player.label]:
                return world, player
            self._kinds.pop(0)
        return None

    def learn(self, results: Sequence[Run]) -> None:
        """Note how long runs of this kind take."""
        for result in results:
            done, seconds = self._taken.get((result.problem, result.policy), (0, 0.0))
            self._taken[result.problem, result.policy] = done + 1, seconds + result.seconds
