"""Carrying out units of work: in this process, in local processes, or on any `concurrent.futures.Executor` (Dask's)."""

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from multiprocessing import resource_tracker
from typing import Any, cast

import cloudpickle

from rankone.child_processes import SAFE_PATH, safe_path
from rankone.compiling.compilers import say_nothing
from rankone.errors import InputError, MissingExtra, RankoneError, WorkerError
from rankone.simulation.work_unit import Run, Unit, Units, do
from rankone.specs import whole_number

_PATIENCE = 1.0  # seconds: a signal that another thread took is heard when a wait ends
_ALONE, _SHORT = 1.0, 100_000  # seconds for which runs of so few steps are played in this process
_UNPACKED = "rankone_unit_was_unpacked"


def worker_count(workers: int | None) -> int:
    """Return how many processes to use: as many as asked for, or one per core."""
    return whole_number("workers", workers) if workers is not None else os.cpu_count() or 1


def as_executor(given: Any) -> Executor | None:
    """Return what was given as an executor; of a Dask client, its executor.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     as_executor(pool) is pool
    True
    """
    if given is None or isinstance(given, Executor):
        return given
    if callable(getattr(given, "get_executor", None)):
        return cast(Executor, given.get_executor())
    do = "pass a concurrent.futures.Executor, a Dask client, or workers=2 for local processes"
    raise InputError("an executor to work on", given, do)


class LocalProcesses(Executor):
    """Processes on this machine, started once they pay: a short study is over in this one before they are ready.

    Args:
        workers: how many; None: one per core, but none within the first second of short runs.
    """

    def __init__(self, workers: int | None) -> None:
        self._max_workers, self._asked_for = worker_count(workers), workers is not None
        self._begin, self.played = time.monotonic(), 0.0  # seconds, without those of compiling
        self._stack, self._pool = contextlib.ExitStack(), cast(Executor | None, None)

    def pay(self, units: Units) -> bool:
        """Tell whether units should go to the processes by now: to be played, or to be compiled side by side."""
        long = self._asked_for or units.horizon > _SHORT or self._pool is not None or self.played > _ALONE
        compiles = bool(units.to_compile) and time.monotonic() > self._begin + _ALONE
        return self._max_workers > 1 and (long or compiles)

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
        """Have a process call a function."""
        self._pool = self._pool or self._stack.enter_context(local_pool(self._max_workers))
        return self._pool.submit(function, *given, **named)

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)


def carry_out(units: Units, pool: Executor, workers: int | None = None) -> Generator[list[Run], None, None]:
    """Yield the results of every unit, as they come; `workers`: of a pool that does not say how many it has."""
    while isinstance(pool, LocalProcesses) and not pool.pay(units):
        if (unit := units.next(1)) is None:
            return
        results = do(unit)
        pool.played += sum(result.seconds for result in results)
        units.learn(results)
        yield results
    pending: set[Future[list[Run]]] = set()
    try:
        while True:
            with explained():
                parallel = max(1, parallelism(pool, worker_count(workers)))
                # Two units a worker: the next one is there when a worker is done.
                while len(pending) < 2 * parallel and (unit := units.next(parallel)) is not None:
                    pending.add(pool.submit(pickle.loads, packed(unit)))
            if not pending:
                return
            finished, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
            finished_well = [future for future in finished if not future.cancelled() and not future.exception()]
            for future in (*finished_well, *finished.difference(finished_well)):  # what is good is kept first
                with explained(by_worker=True):
                    results = future.result()
                units.learn(results)
                yield results
    finally:
        for future in pending:
            with contextlib.suppress(RuntimeError):  # it is not held: an interrupt may come just where `wait` holds it
                while True:
                    future._condition.release()
            future.cancel()


class _Call:
    """Unpacks to what a function returns."""

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self._parts = function, given

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._parts


def packed(unit: Unit) -> bytes:
    """Return bytes that `pickle.loads` turns into the results of a unit.

    What travels is known to every Python, so a scheduler without rankone passes it on and a worker without it says so:
    a unit that cannot be unpacked would end a Dask worker, and the study would wait for ever.
    """
    return bytes(cloudpickle.dumps(_Call(_do_unpacked, unit)))


def _do_unpacked(unit: Unit) -> list[Run]:
    """Carry out a unit that could be unpacked: a name that is missing from here on is a mistake of its own."""
    try:
        return do(unit)
    except AttributeError as error:
        vars(error)[_UNPACKED] = True  # travels with the error; one of unpacking looks the same otherwise
        raise


def parallelism(executor: Executor, otherwise: int) -> int:
    """Return how many units an executor works on at a time, now: clusters grow and shrink, and may have no worker."""
    client = getattr(executor, "_client", None)  # of Dask
    if client is not None:
        return sum(client.nthreads().values())
    return int(getattr(executor, "_max_workers", otherwise))


@contextlib.contextmanager
def explained(by_worker: bool = False) -> Iterator[None]:
    """Say in one sentence what goes wrong between here and the workers; `by_worker`: it is an answer of theirs."""
    try:
        yield
    except RankoneError:
        raise
    except Exception as error:
        not_unpacked = by_worker and isinstance(error, AttributeError) and _UNPACKED not in vars(error)
        if isinstance(error, ImportError) or not_unpacked:
            wanted, again = "rankone and the module of every policy, the same on every worker", "install them there"
            raise WorkerError(wanted, f"one that says: {error}", f"{again}; what was finished is kept") from error
        of_dask = type(error).__module__.startswith("distributed")  # a unit that no worker survives, for example
        if of_dask or isinstance(error, (CancelledError, OSError, RuntimeError)):  # broken pools, lost schedulers
            got = f"{type(error).__name__}: {error}".rstrip(": ")
            again = "start the study again with the same out directory: what was finished is kept there"
            raise WorkerError("workers that stay until the study is done", got, again) from error
        raise


@contextlib.contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Local processes. Loky's start without importing the user's script again, so a script needs no main guard."""
    from loky import ProcessPoolExecutor

    with safe_path():  # the workers take it from `env`; what cleans up after them is started here
        pool = ProcessPoolExecutor(max_workers=workers, initializer=_end_with, initargs=(os.getpid(),), env=SAFE_PATH)
        if os.name == "posix":
            resource_tracker.ensure_running()
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
    say_nothing()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
        scheme, location = addressing.parse_address(address)
        registry.get_backend(scheme)
        addressing.parse_host_port(location)
    except ValueError as error:
        do = "ask the scheduler for it"
        raise InputError("an address like tcp://host:port", f"{address} ({error})", do) from None
    try:
        client = dask.Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        do = "start one with `dask scheduler`, or check the address"
        raise WorkerError(f"a Dask scheduler at {address}", f"no answer within {timeout:g} s", do) from error
    try:
        yield client.get_executor()
    finally:
        client.close()
