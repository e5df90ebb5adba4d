"""Studies: every policy on every problem, many runs, on any executor; finished runs are kept and never asked again."""

from __future__ import annotations

import contextlib
import typing
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankone.compiling.compiled import source_key
from rankone.errors import InputError
from rankone.numerics.arrays import Ints
from rankone.policies import Policy, as_policy
from rankone.problems import Problem, as_problem
from rankone.problems.base import problem_to_dict
from rankone.problems.registry import is_table
from rankone.progress import Progress, as_progress
from rankone.simulation.executors import as_executor, carry_out, worker_count
from rankone.simulation.feedback import Feedback, as_feedback
from rankone.simulation.store import RunStore, made_with, read_about
from rankone.simulation.study import Study
from rankone.simulation.work_unit import Run, Units, modules_of, ready_for, start_on
from rankone.specs import as_seed, as_whole_number, one_of, whole_number

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
) -> Study:
    """Play policies on problems and return the study.

    Args:
        problems: a problem, its text (``"needle:32x32"``, a file), an array or a frame of click rates, or several.
        policies: policies or their names (``"rank1elim-kl:c=0"``).
        horizon: decisions per run; 1e4 is fine.
        runs: runs of each policy on each problem.
        seed: root of the seed tree; results depend on nothing else, not on `workers` or their order. None draws one,
            or takes that of the study in `out`; the study's `seed` says which.
        workers: processes to use (default: one per core); 1 plays in this process.
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
    workers, executor = worker_count(workers), as_executor(executor)
    for world in worlds:
        for player in players:  # bad parameters are refused here, not by a worker half-way
            try:
                start_on(ready_for(player, world, horizon), world)
            except MemoryError as error:
                do = "take fewer rows and columns, or a policy that keeps less"
                raise InputError(
                    f"a problem that {player.label} can keep in memory", f"{world.name} ({error})", do
                ) from None
            player.check_context(world.n_context, f"the problem {world.name}")
    done: dict[tuple[str, str, int], Run] = {}
    wanted = len(worlds) * len(players) * runs
    with contextlib.ExitStack() as stack:
        store = None
        if out is not None:
            description = {
                "horizon": int(steps[-1]), "seed": seed, "checkpoints": steps.tolist(),
                "problems": [problem_to_dict(world) for world in worlds],
                "policies": [player.label for player in players], "runs": runs,
                **({} if late.is_immediate else {"feedback": late.label}), **made_with(),
            }  # fmt: skip
            code = {
                (world.digest, player.label): source_key(*modules_of(player, world))
                for world in worlds
                for player in players
            }
            store = stack.enter_context(RunStore(Path(out), description, code))
            done = _already_done(store, worlds, players, runs)
        report = as_progress(progress)
        report(len(done), wanted)
        missing = {
            (world.name, player.label): [run for run in range(runs) if (world.name, player.label, run) not in done]
            for world in worlds
            for player in players
        }
        units = Units(worlds, players, steps, late, seed, missing)
        digests = {world.name: world.digest for world in worlds}
        try:
            for results in stack.enter_context(contextlib.closing(carry_out(units, workers, executor))):
                if store is not None:
                    store.append(digests[results[0].problem], results)
                for result in results:
                    done[result.problem, result.policy, result.run] = result
                report(len(done), wanted)
        except KeyboardInterrupt:
            if on_stop == "raise" or not done:
                raise
            kept = f"stopped by hand: the study has the {len(done):,} of {wanted:,} runs that are finished"
            warnings.warn(kept, stacklevel=3)
    labels = [player.label for player in players]
    return Study(worlds, labels, steps, list(done.values()), late, seed=seed, wanted=wanted)


def _seed(seed: int | None, out: str | Path | None) -> int:
    """Return the seed, that of a study which is to be continued, or one that is drawn."""
    if seed is None and out is not None and (Path(out) / "study.json").exists():
        return int(read_about(Path(out), "study")["seed"])
    return as_seed(seed)


def _already_done(
    store: RunStore, problems: Sequence[Problem], policies: Sequence[Policy], runs: int
) -> dict[tuple[str, str, int], Run]:
    """Return the runs of this study that the store already has."""
    names = {world.digest: world.name for world in problems}
    labels = {player.label for player in policies}
    return {
        (names[digest], run.policy, run.run): run._replace(problem=names[digest])
        for digest, run in store
        if digest in names and run.policy in labels and run.run < runs
    }


def listed(given: Any, one: tuple[type, ...], what: str, example: str) -> list[Any]:
    """Return what may be given one at a time or several as a list."""
    if isinstance(given, one) or is_table(given):
        return [given]
    if not isinstance(given, Iterable):
        raise InputError(f"{what} or their names", given, f"try '{example}'")
    return list(given)


def _problems(given: Problem | str | Path | Sequence[Problem | str | Path]) -> list[Problem]:
    result = [as_problem(item) for item in listed(given, (Problem, str, Path), "problems", "needle:8x8")]
    if not result:
        raise InputError("at least one problem", "none", "try rankone.needle(32, 32)")
    if len({world.name for world in result}) < len(result):
        raise InputError("problems with distinct names", [world.name for world in result], "give each a name=")
    if len({world.digest for world in result}) < len(result):
        raise InputError("distinct problems", [world.name for world in result], "name each problem once")
    return result


def _policies(given: Policy | str | Sequence[Policy | str]) -> list[Policy]:
    result = [as_policy(item) for item in listed(given, (Policy, str), "policies", "ucb1")]
    if not result:
        raise InputError("at least one policy", "none", "try ['rank1elim-kl', 'ucb1']")
    labels = [player.label for player in result]
    if len(set(labels)) < len(labels):
        raise InputError("distinct policies", labels, "name each policy once")
    return result


def checkpoint_steps(checkpoints: int | str | Sequence[int], horizon: int) -> Ints:
    """Return the steps at which regret is recorded."""
    if isinstance(checkpoints, str):
        if checkpoints == "log":
            return np.unique(np.geomspace(1, horizon, 100).round()).astype(np.int64)
        raise InputError("checkpoints as a number, 'log' or a list of steps", checkpoints, "try checkpoints=100")
    if not np.iterable(checkpoints):
        count = min(whole_number("checkpoints", checkpoints), horizon)
        steps = np.unique(np.linspace(0, horizon, count + 1)[1:].round())
    else:
        try:
            steps = np.asarray(checkpoints, dtype=np.float64)
        except (TypeError, ValueError):  # texts, or lists in the list
            steps = np.empty(0)
        rising = steps.ndim == 1 and len(steps) > 0 and steps[0] >= 1 and (np.diff(steps) > 0).all()
        if not rising or steps[-1] != horizon or (steps != steps.round()).any():
            raise InputError(
                f"increasing whole checkpoints from 1 to {horizon}", checkpoints, "end them at the horizon"
            )
    return steps.astype(np.int64)
