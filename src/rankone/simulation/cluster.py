"""A running Dask cluster as the executor of studies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from rankone.errors import InputError, MissingExtra, WorkerError

_SECONDS_TO_ANSWER = 10


@contextlib.contextmanager
def cluster(address: str, timeout: float = _SECONDS_TO_ANSWER) -> Iterator[Executor]:
    """Connect to the scheduler at ``tcp://host:port`` and yield an executor for `rankone.simulate`.

    Args:
        address: where the scheduler listens.
        timeout: seconds that it has to answer.
    """
    try:
        import distributed
        from distributed.comm import addressing, registry
    except ImportError:
        raise MissingExtra("a study on a cluster", "cluster") from None
    dask: Any = distributed
    try:  # a client that is given such an address is half made, and takes a while to go
        scheme, place = addressing.parse_address(address)
        registry.get_backend(scheme)
        addressing.parse_host_port(place)
    except ValueError as error:
        raise InputError(
            "an address like tcp://host:port", f"{address} ({error})", "ask the scheduler for it"
        ) from None
    try:
        client = dask.Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise WorkerError(
            f"a Dask scheduler at {address}",
            f"no answer within {timeout:g} s",
            "start one with `dask scheduler`, or check the address",
        ) from error
    try:
        yield client.get_executor()
    finally:
        client.close()
