"""The process that compiles in the background: it reads what to compile from standard input, and has low priority.

Of all processes that share a cache on disk one compiles at a time, so that many that start together do not fill the
machine's memory; the others wait before they have loaded anything large.
"""

import contextlib
import os
import pickle
import select
import sys
from collections.abc import Iterator
from typing import IO, Any

from rankone.compiling.folders import cache_roots
from rankone.compiling.turns import wait_for

_IDLE = 5.0  # seconds without a request


def requests(source: int) -> Iterator[bytes]:
    """Yield what is asked for until nobody can ask, or has asked for a while."""
    while sys.platform == "win32" or select.select([source], [], [], _IDLE)[0]:
        size = int.from_bytes(os.read(source, 8), "big")
        request = b""
        while len(request) < size:
            request += os.read(source, size - len(request))
        if not size:
            return
        yield request


def wait_for_others() -> IO[bytes] | None:
    """Wait until no other process compiles in the background; as long as the file is open, none does."""
    for root in cache_roots(make=True):
        with contextlib.suppress(OSError):  # read-only, or on a file system without locks
            file = (root / "background").open("ab")
            if sys.platform != "win32":
                wait_for(file, 0)
            return file
    return None


def main() -> None:
    """Compile what is asked for. What fails to compile here says so where it is used."""
    with contextlib.suppress(OSError):
        os.nice(10)
    held = wait_for_others()
    from rankone.compiling.compiled import compiled

    for request in requests(0):
        with contextlib.suppress(Exception):
            entry, modules, types = pickle.loads(request)  # noqa: S301  # from the process that started this one
            function: Any = compiled(entry, *modules)
            function.compile(types)
    if held is not None:
        held.close()


if __name__ == "__main__":
    main()
