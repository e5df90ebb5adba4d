"""What is not compiled yet runs as plain Python, another process compiles it, and a later call runs that."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rankone.compiling import background as background_process
from rankone.compiling import tiers
from rankone.compiling.tiers import LONG, Tiered
from rankone.errors import InputError
from rankone.numerics.arrays import Floats
from rankone.numerics.kl import kl_upper

PATIENCE = 600.0  # seconds until a test gives up waiting for another process


def new_function() -> Any:
    """Return something that nobody has compiled; it counts as the package's own, as only that is tiered."""

    def fill(values: Floats) -> float:
        for index in range(len(values)):
            values[index] = kl_upper(values[index], 0.1)
        return 1.0 / values[0]

    fill.__module__ = "rankone.numerics.kl"
    return fill


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What the process in the background is asked to compile; it is not started."""
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RANKONE_COMPILE", raising=False)
    found: list[Any] = []
    monkeypatch.setattr(tiers._background, "compile", lambda *request: found.append(request))
    return found


def codes(of: Tiered) -> int:
    return len(of._compiled.signatures)


def test_plain_first_and_asked_for_once(asked: list[Any]) -> None:
    run = Tiered(new_function())
    assert run(np.array([0.5])) == run(np.array([0.5])) == 1.0 / kl_upper(0.5, 0.1)
    assert len(asked) == 1
    assert codes(run) == 0


def test_long_work_is_compiled_at_once(asked: list[Any]) -> None:
    run = Tiered(new_function())
    run(np.full(3, 0.5), size=LONG + 1)
    assert codes(run) == 1
    assert not asked


def test_what_python_refuses_runs_compiled_on_what_it_was_given(asked: list[Any]) -> None:
    def divide(values: Floats, by: float) -> float:
        values[0] += 1.0
        return 1.0 / by  # by zero: an error in Python, infinite in compiled code

    divide.__module__ = "rankone.numerics.kl"
    values = np.zeros(1)
    assert Tiered(divide)(values, 0.0) == np.inf
    assert values[0] == 1.0


def test_the_variable_says_when_to_compile(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for choice, compiles in (("first", 1), ("never", 0)):
        monkeypatch.setenv("RANKONE_COMPILE", choice)
        run = Tiered(new_function())
        run(np.array([0.5]), size=LONG + 1)
        assert codes(run) == compiles
    monkeypatch.setenv("RANKONE_COMPILE", "sometimes")
    with pytest.raises(InputError, match="sometimes"):
        Tiered(new_function())
    assert not asked


PROGRAM = """
import sys, time
import rankone
from rankone.compiling.tiers import tiered
from rankone.policies.advance import advance
agent = rankone.UCB1().agent(n_rows=2, n_cols=2, seed=7)
agent.tell(agent.ask(), True)
run = tiered(advance, type(agent.policy).__module__)._compiled
print(len(run.signatures), flush=True)
while "wait" in sys.argv and not run.signatures:
    time.sleep(0.05)
    agent.tell(agent.ask(), True)
print([agent.ask().shown for _ in range(20)])
"""


def start(tmp_path: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    env = {**os.environ, "RANKONE_CACHE_DIR": str(tmp_path / "cache"), **more}
    env.pop("RANKONE_COMPILE", None)
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def background() -> list[int]:
    """The processes in the background on this machine."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"rankone.compiling.background" in each.read_bytes():
                found.append(int(each.parent.name))
        except OSError:
            continue
    return found


def test_many_processes_at_once_all_answer_at_once_and_one_compiles(tmp_path: Path) -> None:
    processes = [start(tmp_path, "wait") for _ in range(4)]
    answers = [process.communicate(timeout=PATIENCE) for process in processes]
    assert {first for first, *_ in (told.splitlines() for told, _ in answers)} == {"0"}  # plain Python
    assert all(not errors for _, errors in answers)
    folders = list((tmp_path / "cache" / "kernels").glob("*/*.nbc"))
    assert len(folders) == 1  # the one function for the one policy


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes")
def test_a_killed_compiler_is_not_missed(tmp_path: Path) -> None:
    before = background()
    process = start(tmp_path)
    assert not process.communicate(timeout=PATIENCE)[1]
    for pid in set(background()) - set(before):
        os.kill(pid, signal.SIGKILL)
    again = start(tmp_path, "wait")  # asks for it once more
    assert again.communicate(timeout=PATIENCE)[0].splitlines()[0] == "0"


def test_nothing_is_started_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tiers._Background()
    monkeypatch.setattr(tiers, "can_keep", lambda: False)
    compiler.compile(new_function(), (), ())
    assert compiler._process is None


def test_what_a_state_holds_is_restored_however_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKONE_COMPILE", "never")

    def fail(state: Any) -> None:
        state[0][0][0] = 1.0
        raise ValueError("half a step")

    fail.__module__ = "rankone.numerics.kl"
    inner = np.zeros(1)
    with pytest.raises(ValueError, match="half a step"):
        Tiered(fail)(((inner,),))
    assert inner[0] == 0.0


def test_without_a_compiler() -> None:
    """NUMBA_DISABLE_JIT=1, for who looks for a mistake in a kernel."""
    program = "import rankone; e = rankone.Experiment('x', 2, 2, db=None, seed=1); e.tell(e.ask(), True); e.report()"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Lost:
    """A process in the background that has ended before it had compiled anything."""

    def poll(self) -> int:
        return 1


def test_a_request_that_is_lost_is_made_again_and_compiled_here_in_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tiers, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(tiers, "_LAST_LOOK", 0.0)
    asked: list[Any] = []
    monkeypatch.setattr(tiers._background, "compile", lambda *request: asked.append(request) or Lost())
    run = Tiered(new_function())
    for _ in range(tiers._TRIES):
        run(np.array([0.5]))
    assert (len(asked), codes(run)) == (tiers._TRIES, 0)
    run(np.array([0.5]))
    assert codes(run) == 1


def test_the_background_reads_whole_requests_and_notices_the_end() -> None:
    requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    source, sink = os.pipe()
    os.write(sink, (3).to_bytes(8, "big") + b"abc" + (9).to_bytes(8, "big") + b"cut")
    os.close(sink)
    background_process.read_requests(source, requests)
    os.close(source)
    assert [requests.get(), requests.get()] == [b"abc", None]


def test_a_stopped_compiler_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads nothing, so its pipe is full in the end: it is given up."""
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    started = subprocess.Popen(sleeping, stdin=subprocess.PIPE, bufsize=0)
    assert started.stdin is not None
    os.set_blocking(started.stdin.fileno(), False)
    compiler = tiers._Background()
    monkeypatch.setattr(compiler, "_process", started)
    monkeypatch.setattr(tiers, "can_keep", lambda: True)
    for _ in range(2_000):
        compiler.compile(np.mean, ("rankone" * 20,), ())
        if started.poll() is not None or compiler._process is not started:
            break
    assert started.wait(timeout=PATIENCE) != 0
    if compiler._process is not started and compiler._process is not None:
        compiler._process.kill()
    compiler.forget()
    started.stdin.close()


def test_a_fork_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers._background, "_process", SimpleNamespace(stdin=None))
    child = os.fork()
    if child == 0:
        os._exit(0 if tiers._background._process is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
