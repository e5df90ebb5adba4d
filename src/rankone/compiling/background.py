"""The process that compiles in the background: it reads what to compile from standard input, and has low priority.

Of all processes that share a cache one compiles at a time; the others wait before they have loaded anything large.
"""

import contextlib
import os
import pickle
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any

from rankone.compiling.folders import cache_roots

_IDLE = 5.0  # seconds without a request
Requests = queue.SimpleQueue[bytes | None]


def read_requests(source: int, requests: Requests) -> None:
    """Take in at once what is asked for, so that nobody waits while this process compiles; None when all is read."""
    while (size := _read(source, 8)) is not None:
        request = _read(source, int.from_bytes(size, "big"))
        if request is None:
            break
        requests.put(request)
    requests.put(None)


def _read(source: int, size: int) -> bytes | None:
    """Read so many bytes; None: there are no more."""
    data = b""
    while len(data) < size:
        more = os.read(source, size - len(data))
        if not more:
            return None
        data += more
    return data


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process compiles in the background; the system lets the next one go on when this one ends."""
    with contextlib.ExitStack() as stack:
        for root in cache_roots(make=True):
            with contextlib.suppress(OSError):  # read-only, or on a file system without locks
                file = stack.enter_context((root / "background").open("ab"))
                if sys.platform != "win32":
                    import fcntl

                    fcntl.lockf(file, fcntl.LOCK_EX, 1)
                break
        yield


def main() -> None:
    """Compile what is asked for; failures are ignored here, as whoever asked compiles in the end, and sees them."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)
    requests: Requests = queue.SimpleQueue()
    threading.Thread(target=read_requests, args=(0, requests), daemon=True).start()
    with one_at_a_time(), contextlib.suppress(queue.Empty):
        from rankone.compiling.compiled import compiled

        while (request := requests.get(timeout=_IDLE)) is not None:
            with contextlib.suppress(Exception):
                entry, modules, types = pickle.loads(request)  # noqa: S301  # from the process that started this one
                function: Any = compiled(entry, *modules)
                function.compile(types)


if __name__ == "__main__":
    main()
