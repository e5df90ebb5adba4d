"""Where a command's work is done: local processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
from concurrent.futures import Executor
from contextlib import AbstractContextManager

import typer

WORKERS = typer.Option(None, help="Processes; default: one a core.")
CLUSTER = typer.Option(
    None, help="Address of a Dask scheduler, tcp://host:8786, to work on its workers.", metavar="ADDRESS"
)


def executor_of(cluster: str | None) -> AbstractContextManager[Executor | None]:
    """Connect to the cluster, if one is named."""
    if cluster is None:
        return contextlib.nullcontext()
    from rankone.simulation.cluster import cluster as connect

    return connect(cluster)
