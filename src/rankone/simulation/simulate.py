"""Studies: every policy on every problem, many runs, on any executor; finished runs are kept and never asked again."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankone.errors import InputError
from rankone.policies import Policy, policy
from rankone.problems import RankOne, problem
from rankone.simulation.store import RunStore
from rankone.simulation.study import Study
from rankone.simulation.work import Run, Unit, do
from rankone.specs import whole_number

# A unit of work should take about this long: short enough to lose little, long enough to be worth sending.
_UNIT_SECONDS = 1.0

Progress = Callable[[int, int], None]


def simulate(
    problems: RankOne | str | Sequence[RankOne | str],
    policies: Policy | str | Sequence[Policy | str],
    horizon: int,
    runs: int = 20,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: int | str | Sequence[int] = 100,
    out: str | Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Study:
    """Play policies on problems and return the study.

    Args:
        problems: a problem, its specification (``"needle:32x32"``), or several.
        policies: policies or their names (``"rank1elim-kl:c=0"``).
        horizon: decisions a run.
        runs: runs of each policy on each problem.
        seed: root of the seed tree; results depend on nothing else, not on `workers` or their order.
        workers: processes to use (default: one a core); 1 plays in this process.
        checkpoints: at how many steps regret is recorded (evenly spaced), ``"log"`` for 100 evenly on a log scale,
            or the steps themselves.
        out: directory that keeps finished runs; the same study started again continues there.
        executor: any `concurrent.futures.Executor` to use instead of local processes.
        progress: called with (finished runs, all runs) whenever that changes.

    >>> import rankone
    >>> study = rankone.simulate(rankone.RankOne([0.9, 0.5], [0.8, 0.3]), "ucb1", horizon=500, runs=2, workers=1)
    >>> study.summary()["runs"].to_list()
    [2]
    """
    worlds = _problems(problems)
    players = _policies(policies)
    steps = _steps(checkpoints, whole_number("horizon", horizon))
    whole_number("runs", runs)
    whole_number("seed", seed, least=0)
    workers = whole_number("workers", workers) if workers is not None else os.cpu_count() or 1
    done: dict[tuple[str, str, int], Run] = {}
    wanted = len(worlds) * len(players) * runs
    with contextlib.ExitStack() as stack:
        store = None
        if out is not None:
            description = {
                "horizon": int(steps[-1]),
                "seed": seed,
                "checkpoints": steps.tolist(),
                "problems": [world.to_dict() for world in worlds],
                "policies": [player.label for player in players],
                "runs": runs,
            }
            store = stack.enter_context(RunStore(Path(out), description))
            done = _already_done(store, worlds, players, runs)
        report = progress or (lambda finished, total: None)
        report(len(done), wanted)
        missing = {
            (world.name, player.label): [run for run in range(runs) if (world.name, player.label, run) not in done]
            for world in worlds
            for player in players
        }
        units = _Units(worlds, players, steps, seed, missing)
        digests = {world.name: world.digest for world in worlds}
        for results in _carry_out(units, workers, executor):
            if store is not None:
                store.append(digests[results[0].problem], results)
            for result in results:
                done[result.problem, result.policy, result.run] = result
            report(len(done), wanted)
    return Study(worlds, [player.label for player in players], steps, list(done.values()))


class _Units:
    """Deals out units of work, each about `_UNIT_SECONDS` long by what earlier runs of its kind took."""

    def __init__(
        self,
        problems: Sequence[RankOne],
        policies: Sequence[Policy],
        steps: npt.NDArray[np.int64],
        seed: int,
        missing: dict[tuple[str, str], list[int]],
    ) -> None:
        self._kinds = [
            (world, player) for world in problems for player in policies if missing[world.name, player.label]
        ]
        self._missing = missing
        self._steps, self._seed = steps, seed
        self._seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)

    def next(self, parallel: int) -> Unit | None:
        """Return the next unit, None when every run is dealt out; `parallel` workers should all get a share."""
        while self._kinds:
            world, player = self._kinds[0]
            left = self._missing[world.name, player.label]
            if left:
                break
            self._kinds.pop(0)
        else:
            return None
        taken = self._seconds[world.name, player.label]
        size = int(_UNIT_SECONDS / max(1e-6, float(np.mean(taken)))) if taken else 1
        size = max(1, min(size, -(-len(left) // parallel)))
        first = left[0]
        last = first
        while last + 1 in left[:size] and last + 1 - first < size:
            last += 1
        del left[: last + 1 - first]
        return Unit(world, player, self._steps, self._seed, range(first, last + 1))

    def learn(self, results: Sequence[Run]) -> None:
        """Note how long runs of this kind take."""
        for result in results:
            self._seconds[result.problem, result.policy].append(result.seconds)


def _carry_out(units: _Units, workers: int, executor: Executor | None) -> Iterator[list[Run]]:
    """Yield the results of every unit, as they come."""
    if executor is None and workers == 1:
        while (unit := units.next(1)) is not None:
            results = do(unit)
            units.learn(results)
            yield results
        return
    with process_pool(workers) if executor is None else contextlib.nullcontext(executor) as pool:
        pending: set[Future[list[Run]]] = set()
        try:
            while True:
                while len(pending) < 2 * workers and (unit := units.next(workers)) is not None:
                    pending.add(pool.submit(do, unit))
                if not pending:
                    return
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    results = future.result()
                    units.learn(results)
                    yield results
        finally:
            for future in pending:
                future.cancel()


@contextlib.contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """Local processes. Loky's start without importing the user's script again, so a script needs no main guard."""
    from loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(max_workers=workers, initializer=_end_with, initargs=(os.getpid(),))
    try:
        yield pool
    except BaseException:  # Ctrl-C included: runs in progress are given up, finished ones are kept
        pool.shutdown(wait=True, kill_workers=True)
        raise
    pool.shutdown(wait=True)


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone, killed perhaps: nobody is left to give results to."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _already_done(
    store: RunStore, problems: Sequence[RankOne], policies: Sequence[Policy], runs: int
) -> dict[tuple[str, str, int], Run]:
    """Return the runs of this study that the store already has."""
    names = {world.digest: world.name for world in problems}
    labels = {player.label for player in policies}
    return {
        (names[digest], run.policy, run.run): run._replace(problem=names[digest])
        for digest, run in store
        if digest in names and run.policy in labels and run.run < runs
    }


def _problems(given: RankOne | str | Sequence[RankOne | str]) -> list[RankOne]:
    found = [problem(item) for item in ([given] if isinstance(given, (RankOne, str)) else given)]
    if not found:
        raise InputError("at least one problem", "none", "pass rankone.needle(32, 32), say")
    if len({world.name for world in found}) < len(found):
        raise InputError("problems with distinct names", [world.name for world in found], "give each a name=")
    if len({world.digest for world in found}) < len(found):
        raise InputError("distinct problems", [world.name for world in found], "name each problem once")
    return found


def _policies(given: Policy | str | Sequence[Policy | str]) -> list[Policy]:
    found = [policy(item) for item in ([given] if isinstance(given, (Policy, str)) else given)]
    if not found:
        raise InputError("at least one policy", "none", "pass ['rank1elim-kl', 'ucb1'], say")
    labels = [player.label for player in found]
    if len(set(labels)) < len(labels):
        raise InputError("distinct policies", labels, "name each policy once")
    return found


def _steps(checkpoints: int | str | Sequence[int], horizon: int) -> npt.NDArray[np.int64]:
    if checkpoints == "log":
        steps = np.unique(np.geomspace(1, horizon, 100).round())
    elif isinstance(checkpoints, str):
        raise InputError("checkpoints as a number, 'log' or a list of steps", checkpoints, "pass checkpoints=100, say")
    elif isinstance(checkpoints, int):
        count = min(whole_number("checkpoints", checkpoints), horizon)
        steps = np.unique(np.linspace(0, horizon, count + 1)[1:].round())
    else:
        steps = np.asarray(checkpoints, dtype=np.float64)
        if steps.ndim != 1 or len(steps) == 0 or (np.diff(steps) <= 0).any() or steps[0] < 1 or steps[-1] != horizon:
            raise InputError(f"increasing checkpoints from 1 to {horizon}", checkpoints, "end them at the horizon")
    return steps.astype(np.int64)
