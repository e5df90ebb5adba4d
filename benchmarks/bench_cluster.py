"""Where a cluster pays: a study on 1 and 2 local processes and on a 2-worker Dask cluster; overhead a unit, efficiency.

The cluster runs on this machine, so it can win nothing: what it shows is what going through Dask costs. Processor time,
of this process and its workers, says so whatever else the machine does. Every way plays the same runs and must give the
same numbers.
"""

from __future__ import annotations

import functools
import pickle
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np

import rankone
from benchmarks.usage import cpu_seconds
from rankone.simulation.executors import local_pool, packed
from rankone.simulation.work_unit import Unit

PROBLEM, POLICIES = rankone.needle(64, 64), ["kl-ucb", "rank1elim-kl:c=0"]
HORIZON, RUNS = 2_000_000, 100
UNITS, ROUNDS = 200, 3


def study(**where: Any) -> rankone.Study:
    return rankone.simulate(PROBLEM, POLICIES, horizon=HORIZON, runs=RUNS, seed=1, **where)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the clock, seconds of processor time, and what the work gives."""
    begin, used = time.perf_counter(), cpu_seconds()
    result = work()
    return time.perf_counter() - begin, cpu_seconds() - used, result


def small_units(pool: Executor) -> None:
    """Units that play ten decisions: what they take is what a unit costs on top of its runs."""
    units = [Unit(PROBLEM, rankone.Rank1ElimKL(c=0.0), np.array([10]), 1, range(n, n + 1)) for n in range(UNITS)]
    for future in [pool.submit(pickle.loads, packed(unit)) for unit in units]:
        future.result()


def report() -> str:
    """Return the figures as Markdown."""
    import distributed

    dask: Any = distributed
    warnings.simplefilter("ignore")
    study(workers=1)  # compiles what is not in the cache yet
    walls: dict[str, list[float]] = {}
    processor: dict[str, list[float]] = {}
    tables, started = [], time.perf_counter()
    with (
        dask.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        dask.Client(cluster, set_as_default=False) as client,
        local_pool(2) as pool,
    ):
        far = client.get_executor()
        rankone.simulate(PROBLEM, POLICIES, horizon=10, runs=8, executor=far)
        ready = time.perf_counter() - started
        ways = {
            "1 process": {"workers": 1},
            "2 local processes": {"executor": pool},
            "2 Dask workers": {"executor": far},
        }
        rankone.simulate(PROBLEM, POLICIES, horizon=10, runs=8, executor=pool)
        for _ in range(ROUNDS):
            for name, where in ways.items():
                wall, used, result = timed(functools.partial(study, **where))
                walls.setdefault(name, []).append(wall)
                processor.setdefault(name, []).append(used)
                tables.append(result.table)
        with ThreadPoolExecutor(1) as here:
            pools = dict(zip(ways, (here, pool, far), strict=True))
            small_units(far)
            unit_costs = {name: timed(functools.partial(small_units, pools[name]))[:2] for name in ways}
    same = all(table.equals(tables[0]) for table in tables)
    base_wall, base = median(walls["1 process"]), median(processor["1 process"])
    lines = [
        f"{2 * RUNS} runs of {HORIZON:,} decisions on {PROBLEM.name}; medians of {ROUNDS} rounds.",
        "",
        "| | seconds | speed-up | processor time | of it for the runs | a unit costs on top: time, processor time |",
        "|---|---|---|---|---|---|",
    ]
    for name in ways:
        wall, used = median(walls[name]), median(processor[name])
        cost, cost_used = (1e3 * seconds / UNITS for seconds in unit_costs[name])
        lines.append(
            f"| {name} | {wall:.1f} | {base_wall / wall:.2f} | {used:.1f} s | {base / used:.0%} | "
            f"{cost:.1f} ms, {cost_used:.1f} ms |"
        )
    lines += [
        "",
        f"Starting the Dask cluster until both workers have played: {ready:.0f} s. Numbers the same every way: "
        f"{'yes' if same else 'NO'}.",
    ]
    return "\n".join(lines)
