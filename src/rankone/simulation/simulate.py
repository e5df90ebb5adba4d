"""Studies: every policy on every problem, many runs, on any executor; finished runs are kept and never asked again."""

import contextlib
import itertools
import typing
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rankone.compiling.sources import source_key
from rankone.errors import InputError
from rankone.numerics.arrays import Ints
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, as_problem
from rankone.problems.base import problem_to_dict
from rankone.problems.registry import is_table
from rankone.progress import Progress, as_progress
from rankone.simulation.executors import LocalProcesses, as_executor, carry_out, worker_count
from rankone.simulation.feedback import Feedback, as_feedback
from rankone.simulation.store import RunStore, kept_runs, made_with, read_about
from rankone.simulation.study import Study
from rankone.simulation.work_unit import Run, Units, modules_of, ready_for, start_on
from rankone.specs import as_seed, as_whole_number, distinct, one_of, whole_number

OnStop = Literal["return", "raise"]

MOST_STEPS = 10**15  # step numbers stay exact as floats


def simulate(
    problems: Problem | str | Path | Sequence[Problem | str | Path],
    policies: Policy | str | Sequence[Policy | str],
    horizon: int,
    *,
    runs: int = 20,
    seed: int | None = 0,
    workers: int | None = None,
    checkpoints: int | str | Sequence[int] = 100,
    out: str | Path | None = None,
    executor: Executor | Any | None = None,
    progress: Progress | bool | None = None,
    feedback: Feedback | str | None = None,
    on_stop: OnStop = "return",
    paired: bool = False,
) -> Study:
    """Play policies on problems and return the study.

    Args:
        problems: a problem, its text (``"needle:32x32"``, a file), an array or a frame of click rates, or several.
        policies: policies or their names (``"rank1elim-kl:c=0"``).
        horizon: decisions per run; 1e4 is fine.
        runs: runs of each policy on each problem.
        seed: root of the seed tree; results depend on nothing else, not on `workers` or their order. None draws one,
            or takes that of the study in `out`; the study's `seed` says which.
        workers: processes to use; 1: this one. Default: this one for a study of a second, else one per core.
        checkpoints: at how many steps regret is recorded (evenly spaced), ``"log"`` for 100 evenly on a log scale,
            or the steps themselves.
        out: directory that keeps finished runs; the same study started again continues there.
        executor: a Dask client, or any `concurrent.futures.Executor`, to use instead of local processes.
        progress: True for a bar, in a terminal or a notebook; or a function, called with (finished runs, all runs)
            whenever that changes.
        feedback: when outcomes come: ``"delay:mean=100"``, ``"delay:steps=100"``, ``"batch:size=1000"``; default:
            before the next decision.
        on_stop: what Ctrl-C does: "return" the study of the runs that are finished, with a warning, or "raise"
            KeyboardInterrupt, as it does where no run is finished. Either way finished runs are kept in `out`.
        paired: give all policies of a run the same visitors: at step t one random number decides whether a combination
            is clicked, whoever shows it. Differences between policies (`Study.versus`) then have smaller errors. In
            lists whose readers stop at a click, policies share luck only until they first differ.

    >>> import rankone
    >>> study = rankone.simulate(rankone.RankOne([0.9, 0.5], [0.8, 0.3]), "ucb1", horizon=500, runs=2, workers=1)
    >>> study.summary()["runs"].to_list()
    [2]
    """
    one_of("on_stop", on_stop, typing.get_args(OnStop))
    worlds = _problems(problems)
    players = _policies(policies)
    late = as_feedback(feedback)
    horizon = as_whole_number("horizon", horizon, most=MOST_STEPS)
    steps = checkpoint_steps(checkpoints, horizon)
    runs = as_whole_number("runs", runs)
    seed = _seed(seed, out)
    worker_count(workers)  # refused here
    executor = as_executor(executor)
    for world, player in itertools.product(worlds, players):  # what cannot be is refused here, not by a worker
        try:
            start_on(ready_for(player, world, horizon), world)
        except MemoryError as error:
            expected, do = f"a problem that {player.label} can keep in memory", "take fewer levels, or another policy"
            raise InputError(expected, f"{world.name} ({error})", do) from None
        player.check_context(world.n_context, f"the problem {world.name}")
    done: dict[tuple[str, str, int], Run] = {}
    labels, wanted = [player.label for player in players], len(worlds) * len(players) * runs
    with contextlib.ExitStack() as stack:
        store = None
        if out is not None:
            description = {
                "horizon": horizon,
                "seed": seed,
                "checkpoints": steps.tolist(),
                "problems": [problem_to_dict(world) for world in worlds],
                "policies": labels,
                "runs": runs,
                **({} if late.is_immediate else {"feedback": late.label}),
                **({"paired": True} if paired else {}),
                **made_with(),
            }
            code = {
                (world.digest, player.label): source_key(*modules_of(player, world))
                for world, player in itertools.product(worlds, players)
            }
            store = stack.enter_context(RunStore(Path(out), description, code))
            kept = kept_runs(store.directory, worlds, labels, runs, code)
            done = {(run.problem, run.policy, run.run): run for run in kept}
        report = as_progress(progress)
        report(len(done), wanted)
        missing = {
            (world.name, label): [run for run in range(runs) if (world.name, label, run) not in done]
            for world, label in itertools.product(worlds, labels)
        }
        units = Units(worlds, players, steps, late, seed, missing, paired)
        digests = {world.name: world.digest for world in worlds}
        try:
            with (
                LocalProcesses(workers) if executor is None else contextlib.nullcontext(executor) as pool,
                contextlib.closing(carry_out(units, pool, workers)) as finished,
            ):
                for results in finished:
                    if store is not None:
                        store.append(digests[results[0].problem], results)
                    for result in results:
                        done[result.problem, result.policy, result.run] = result
                    report(len(done), wanted)
        except KeyboardInterrupt:
            if on_stop == "raise" or not done:
                raise
            message = f"stopped by hand: the study has the {len(done):,} of {wanted:,} runs that are finished"
            warnings.warn(message, stacklevel=3)
    return Study(worlds, labels, steps, list(done.values()), late, seed=seed, wanted=wanted, paired=paired)


class Part(NamedTuple):
    """One of several studies that are played one after the other: a sweep, or an arena."""

    problems: list[Problem]
    policies: list[Policy]
    horizon: int
    feedback: Feedback
    folder: str  # below the directory that keeps finished runs


def simulate_parts(
    parts: Sequence[Part],
    runs: int,
    seed: int,
    workers: int | None,
    executor: Executor | Any | None,
    progress: Progress | bool | None,
    out: str | Path | None,
) -> Iterator[Study]:
    """Play studies on one pool, so that workers start and load kernels once; regret is kept at the horizon only."""
    report, executor = as_progress(progress), as_executor(executor)
    sizes = [runs * len(part.problems) * len(part.policies) for part in parts]
    with contextlib.ExitStack() as stack:
        executor = executor or stack.enter_context(LocalProcesses(workers))
        how: Any = {"runs": runs, "seed": seed, "workers": workers, "executor": executor, "checkpoints": 1}
        befores = itertools.accumulate(sizes[:-1], initial=0)
        for before, (problems, policies, horizon, late, folder) in zip(befores, parts, strict=True):
            how["progress"] = lambda done, _, before=before: report(before + done, sum(sizes))
            how["out"] = None if out is None else Path(out) / folder
            yield simulate(problems, policies, horizon, feedback=late, on_stop="raise", **how)


def _seed(seed: int | None, out: str | Path | None) -> int:
    if seed is None and out is not None and (Path(out) / "study.json").exists():
        return int(read_about(Path(out), "study")["seed"])
    return as_seed(seed)


def listed(given: Any, one: tuple[type, ...], what: str, example: str) -> list[Any]:
    """Return what may be given one at a time or several as a list; there is at least one."""
    items = [given] if isinstance(given, one) or is_table(given) else list(given) if isinstance(given, Iterable) else []
    if not items:
        raise InputError(f"{what} or their names", "none" if isinstance(given, Iterable) else given, f"try '{example}'")
    return items


def _problems(given: Problem | str | Path | Sequence[Problem | str | Path]) -> list[Problem]:
    result = [as_problem(item) for item in listed(given, (Problem, str, Path), "problems", "needle:8x8")]
    names = [world.name for world in result]
    distinct("names of problems", names, "give each a name=")
    if len({world.digest for world in result}) < len(result):
        raise InputError("distinct problems", names, "name each problem once")
    return result


def _policies(given: Policy | str | Sequence[Policy | str]) -> list[Policy]:
    result = [as_policy(item) for item in listed(given, (Policy, str), "policies", "ucb1")]
    distinct("policies", [player.label for player in result], "name each policy once")
    return result


def checkpoint_steps(checkpoints: int | str | Sequence[int], horizon: int) -> Ints:
    """Return the steps at which regret is recorded."""
    if isinstance(checkpoints, str) and checkpoints == "log":
        return np.unique(np.geomspace(1, horizon, 100).round()).astype(np.int64)
    if isinstance(checkpoints, str):
        raise InputError("checkpoints as a number, 'log' or a list of steps", checkpoints, "try checkpoints=100")
    if not np.iterable(checkpoints):
        count = min(whole_number("checkpoints", checkpoints), horizon)
        return np.unique(np.linspace(0, horizon, count + 1)[1:].round()).astype(np.int64)
    try:
        steps = np.asarray(checkpoints, dtype=np.float64)
    except (TypeError, ValueError):  # texts, or lists in the list
        steps = np.empty(0)
    rising = steps.ndim == 1 and len(steps) > 0 and steps[0] >= 1 and (np.diff(steps) > 0).all()
    if not rising or steps[-1] != horizon or (steps != steps.round()).any():
        raise InputError(f"increasing whole checkpoints from 1 to {horizon}", checkpoints, "end them at the horizon")
    return steps.astype(np.int64)
