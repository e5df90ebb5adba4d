"""Carrying out units of work: in this process, in local processes, or on any `concurrent.futures.Executor`."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait

from rankone.errors import RankoneError, WorkerError
from rankone.simulation.units import Units
from rankone.simulation.work import Run, do


def carry_out(units: Units, workers: int, executor: Executor | None) -> Generator[list[Run], None, None]:
    """Yield the results of every unit, as they come."""
    if executor is None and workers == 1:
        while (unit := units.next(1)) is not None:
            results = do(unit)
            units.learn(results)
            yield results
        return
    with local_pool(workers) if executor is None else contextlib.nullcontext(executor) as pool:
        pending: set[Future[list[Run]]] = set()
        try:
            while True:
                with explained():
                    parallel = workers if executor is None else parallelism(executor, workers)
                    # Two units a worker: the next one is there when a worker is done.
                    while len(pending) < 2 * parallel and (unit := units.next(parallel)) is not None:
                        pending.add(pool.submit(do, unit))
                if not pending:
                    return
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                finished_well = [future for future in finished if not future.cancelled() and not future.exception()]
                for future in (*finished_well, *finished.difference(finished_well)):  # what is good is kept first
                    with explained():
                        results = future.result()
                    units.learn(results)
                    yield results
        finally:
            for future in pending:
                future.cancel()


def parallelism(executor: Executor, otherwise: int) -> int:
    """Return how many units an executor works on at a time, now: clusters grow and shrink."""
    client = getattr(executor, "_client", None)  # of Dask
    if client is not None:
        return max(1, sum(client.nthreads().values()))
    return int(getattr(executor, "_max_workers", otherwise))


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Say in one sentence what goes wrong between here and the workers."""
    try:
        yield
    except RankoneError:
        raise
    except (ImportError, AttributeError) as error:  # what a worker says that cannot unpack the unit
        again = "install it there; what was finished is kept"
        raise WorkerError("the same rankone on every worker", f"one that says: {error}", again) from error
    except (CancelledError, OSError, RuntimeError) as error:  # broken pools and lost schedulers are of these kinds
        got = f"{type(error).__name__}: {error}".rstrip(": ")
        again = "start the study again with the same out directory: what was finished is kept there"
        raise WorkerError("workers that stay until the study is done", got, again) from error


@contextlib.contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
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
    """End this worker when its parent is gone, killed perhaps: nobody is left to give results to.

    Ctrl-C reaches every process of a terminal; what it means is the parent's to say.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
