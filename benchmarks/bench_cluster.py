"""Where a cluster pays: a study on 1 and 2 local processes and on a 2-worker Dask cluster; overhead a unit, efficiency.

The cluster runs on this machine, so it can win nothing: what it shows is what going through Dask costs. Every way plays
the same runs and must give the same numbers.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np

import rankone
from rankone.simulation.executors import local_pool
from rankone.simulation.work import Unit, do

PROBLEM, POLICIES = rankone.needle(64, 64), ["kl-ucb", "rank1elim-kl:c=0"]
HORIZON, RUNS = 2_000_000, 100
UNITS, ROUNDS = 200, 3


def study(**where: Any) -> rankone.Study:
    return rankone.simulate(PROBLEM, POLICIES, horizon=HORIZON, runs=RUNS, seed=1, **where)


def timed(**where: Any) -> tuple[float, float, Any]:
    """Seconds of the whole study, seconds of its runs alone, and its numbers."""
    begin = time.perf_counter()
    result = study(**where)
    return time.perf_counter() - begin, sum(run.seconds for run in result.runs), result.table


def overhead(pool: Executor) -> float:
    """Milliseconds a unit costs on top of its runs: units that play ten decisions."""
    units = [Unit(PROBLEM, rankone.Rank1ElimKL(c=0.0), np.array([10]), 1, range(n, n + 1)) for n in range(UNITS)]
    list(pool.map(do, units[:20]))
    begin = time.perf_counter()
    for future in [pool.submit(do, unit) for unit in units]:
        future.result()
    return (time.perf_counter() - begin) / UNITS * 1e3


def report() -> str:
    """Return the figures as Markdown."""
    import distributed

    dask: Any = distributed
    warnings.simplefilter("ignore")
    study(workers=1)  # compiles what is not in the cache yet
    walls: dict[str, list[float]] = {}
    plays: dict[str, list[float]] = {}
    tables, started = [], time.perf_counter()
    with dask.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster, dask.Client(cluster, set_as_default=False) as client, local_pool(2) as pool:  # fmt: skip
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
                wall, play, table = timed(**where)
                walls.setdefault(name, []).append(wall)
                plays.setdefault(name, []).append(play)
                tables.append(table)
        with ThreadPoolExecutor(1) as here:
            unit_costs = {"here": overhead(here), "2 local processes": overhead(pool), "2 Dask workers": overhead(far)}
    same = all(table.equals(tables[0]) for table in tables)
    base = median(walls["1 process"])
    lines = [
        f"{2 * RUNS} runs of {HORIZON:,} decisions on {PROBLEM.name}; medians of {ROUNDS} rounds.",
        "",
        "| | seconds | speed-up | busy: runs / (workers x wall) | overhead a unit |",
        "|---|---|---|---|---|",
    ]
    for name in ways:
        wall, count = median(walls[name]), 1 if name.startswith("1") else 2
        busy = median(play / (count * wall) for play, wall in zip(plays[name], walls[name], strict=True))
        cost = unit_costs.get(name, unit_costs["here"])
        lines.append(f"| {name} | {wall:.1f} | {base / wall:.2f} | {busy:.0%} | {cost:.1f} ms |")
    lines += [
        "",
        f"Starting the Dask cluster until both workers have played: {ready:.0f} s. Numbers the same every way: "
        f"{'yes' if same else 'NO'}.",
    ]
    return "\n".join(lines)
