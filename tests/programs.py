"""Programs without the second that Python needs to start and to import: commands in this process, others forked.

Tests that are about starting start a process.
"""

import atexit
import contextlib
import io
import os
import sys
import traceback
import types
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from rankone.cli import main
from tests.live.workers import CONTEXT


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def rankone(*words):
    """Run the command in this process."""
    said, told, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["rankone", *words]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return Done(code, said.getvalue(), told.getvalue())


def run_python(code, folder):
    """Run a program as ``python -c`` in a folder, in a child of a server that has imported the package."""
    said, told = folder / ".stdout", folder / ".stderr"
    process = CONTEXT.Process(target=_run, args=(code, str(folder), str(said), str(told), dict(os.environ)))
    process.start()
    process.join()
    return Done(process.exitcode, said.read_text(), told.read_text())


def _run(code, folder, said, told, environment):
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, said), (2, told)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(folder)
    sys.path[:0] = ["", str(Path(__file__).parents[1])]
    sys.modules["__main__"] = program = types.ModuleType("__main__")
    ended = 0
    try:
        exec(compile(code, "<string>", "exec"), vars(program))
    except SystemExit as leaves:
        ended = leaves.code or 0
    except BaseException:
        traceback.print_exc()
        ended = 1
    atexit._run_exitfuncs()
    sys.exit(ended)
