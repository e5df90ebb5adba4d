"""Where a command's work is done: local processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from concurrent.futures import Executor

import typer

WORKERS = typer.Option(None, help="Number of processes; default: one per core.")
CLUSTER = typer.Option(
    None, help="Address of a Dask scheduler, tcp://host:8786, to work on its workers.", metavar="ADDRESS"
)


@contextlib.contextmanager
def executor_of(cluster: str | None) -> Iterator[Executor | None]:
    """Connect to the cluster, if one is named, and say how much it can do."""
    if cluster is None:
        yield None
        return
    from rankone.simulation.cluster import cluster as connect
    from rankone.simulation.executors import parallelism

    with connect(cluster) as executor:
        slots = parallelism(executor, 0)
        able = f"threads of its workers: {slots}" if slots else "no worker yet, the work begins when one comes"
        print(f"Cluster {cluster}: {able}", file=sys.stderr)
        yield executor
