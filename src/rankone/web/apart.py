"""What the service leaves to a process of its own: work that takes memory and time, and shall harm nobody.

What is to be done comes on standard input, as JSON: the address of a database may hold a password, and the arguments
of a process can be seen by everybody.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankone.errors import StorageError


async def apart(task: str, **arguments: Any) -> None:
    """Carry out a task of this file in another process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __spec__.name, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        _, error = await process.communicate(json.dumps({"task": task} | arguments).encode())
    except BaseException:  # nobody waits for it any more
        process.kill()
        raise
    if process.returncode != 0:
        last = error.decode(errors="replace").strip().rpartition("\n")[2]
        raise StorageError(f"the process for '{task}' to succeed", last or "no word from it", "try again later")


def export(db: str, name: str, out: str) -> None:
    """Write the decisions of an experiment to a file of the service's own choice."""
    from rankone.serving import Database
    from rankone.serving.export import write_decisions

    with Database(db, read_only=True) as database:
        write_decisions(database, name, Path(out))


def bundle() -> None:
    """Make the chart library ready."""
    from rankone.charts.bundle import make_bundle

    make_bundle()


def _main() -> None:
    arguments = json.load(sys.stdin)
    tasks: dict[str, Callable[..., None]] = {"export": export, "bundle": bundle}
    tasks[arguments.pop("task")](**arguments)


if __name__ == "__main__":
    _main()
