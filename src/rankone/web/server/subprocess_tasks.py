"""What the service leaves to a process of its own: work that takes memory and time, and shall harm nobody.

What is to be done comes on standard input, as JSON: the address of a database may hold a password, and the arguments
of a process can be seen by everybody.
"""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from rankone.child_processes import SAFE_PATH
from rankone.errors import InputError
from rankone.web.server.http.problem_json import Problem

log = logging.getLogger("rankone.web")
_REFUSED = 3  # how a process ends that was asked for what makes no sense
_ENDING = 5.0  # seconds to clean up
# Threads take memory each, and those of the service shall have the processors.
_MODEST = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}


async def run_in_subprocess(task: str, out: BinaryIO | None = None, **arguments: Any) -> None:
    """Carry out a task of this file in another process; what it writes goes to a file."""
    command, env = (sys.executable, "-m", __spec__.name), {**os.environ, **_MODEST, **SAFE_PATH}
    with (
        tempfile.TemporaryFile() as given
    ):  # not a pipe: a full one, or one whose reader has ended, holds up the writer
        given.write(json.dumps({"task": task} | arguments).encode())
        given.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=given, stdout=out, stderr=asyncio.subprocess.PIPE, env=env
        )
    try:
        _, error = await process.communicate()
    except BaseException:  # nobody waits for it any more
        await _end(process)
        raise
    last = error.decode(errors="replace").strip().rpartition("\n")[2]
    if process.returncode == _REFUSED:
        raise InputError(*json.loads(last))
    if process.returncode != 0:
        log.warning("the process for '%s' failed: %s", task, last or "a sudden end")
        do = f"try again later; `rankone {task}`, on the service's machine, may take as much memory as there is"
        raise Problem(503, "task-failed", f"the process for '{task}' to succeed", "it failed", do, retry_after=5)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and wait until it is gone, so that its memory is free for the next."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        process.terminate()  # it cleans up
        try:
            async with asyncio.timeout(_ENDING):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def export(db: str, name: str, kind: str, mebibytes: int) -> None:
    """Write the decisions of an experiment to standard output, with a limit to memory.

    The file made on the way is in a folder that only this user can open, and is gone with this process.
    """
    from rankone.live import Database
    from rankone.live.operate.export import write_decisions

    with contextlib.suppress(ImportError, OSError, ValueError):  # not every system has such a limit
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (mebibytes * 2**20, mebibytes * 2**20))
    with Database(db, read_only=True) as database, tempfile.TemporaryDirectory(prefix="rankone-") as folder:
        out = Path(folder) / f"decisions.{kind}"
        write_decisions(database, name, out)
        with out.open("rb") as written:
            out.unlink()
            shutil.copyfileobj(written, sys.stdout.buffer)


def plan(of: str = "plan", **wanted: Any) -> None:
    """Write a plan to standard output: rehearsals take seconds, and would keep the service's threads from running."""
    import rankone

    silent = {} if of == "plan_goal" else {"progress": False}
    sys.stdout.write(json.dumps(getattr(rankone, of)(**wanted, **silent).to_dict()))


def bundle() -> None:
    """Make the chart library ready."""
    from rankone.charts.bundle import make_bundle

    make_bundle()


def _main() -> None:
    arguments = json.load(sys.stdin)
    if arguments["task"] != "plan":  # which has no files; compiled code would hear of an exception seconds later
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an exception: temporary files are removed
    tasks: dict[str, Callable[..., None]] = {"export": export, "plan": plan, "bundle": bundle}
    try:
        tasks[arguments.pop("task")](**arguments)
    except InputError as error:
        sys.stderr.write("\n" + json.dumps([error.expected, str(error.got), error.do]))
        sys.exit(_REFUSED)


if __name__ == "__main__":
    _main()
