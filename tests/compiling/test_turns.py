"""Processes that need the same function at the same time: one compiles it, and nobody waits in vain."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.errors import TypingError

from rankone.compiling import cache as turns
from rankone.compiling.cache import end_turn, spelled, take_turn
from rankone.compiling.compiled import compiled

# Takes a turn for each name it is given, says so, and whether the file was there by then.
TAKES = """
import sys
from pathlib import Path
from rankone.compiling.cache import take_turn

for what in sys.argv[3:]:
    take_turn(Path(sys.argv[1]), what)
    print(what, Path(sys.argv[2]).exists(), flush=True)
sys.stdin.read()
"""
COMPILES = """
import sys
import my_functions
from rankone.compiling.compiled import compiled

print("ready", flush=True)
sys.stdin.readline()
function = compiled(my_functions.double, "my_functions")
print(function(21.0), sum(function.stats.cache_hits.values()))
"""

# Forks while another thread compiles; the child compiles, too, and says whether garbage is collected in it.
FORKS = """
import gc, os, threading, time
import my_functions
from rankone.compiling import cache as turns
from rankone.compiling.compiled import compiled

thread = threading.Thread(target=compiled(my_functions.double, "my_functions"), args=(21.0,))
thread.start()
while turns._file is None and thread.is_alive():
    time.sleep(0.001)
child = os.fork()
if child == 0:
    print(compiled(my_functions.half, "my_functions")(42.0), gc.isenabled(), turns._file, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def start(program: str, *words: object, **env: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program, *map(str, words)], env={**os.environ, **env}, **pipes)


@pytest.fixture(autouse=True)
def _for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", math.inf)


def test_who_needs_the_same_waits_and_others_do_not(tmp_path: Path) -> None:
    over = tmp_path / "over"
    assert take_turn(tmp_path, "this")
    with start(TAKES, tmp_path, over, "that", "this") as other:
        assert other.stdout.readline() == "that False\n"
        over.touch()
        end_turn()
        assert other.stdout.readline() == "this True\n"
        other.stdin.close()


def test_the_turn_of_a_killed_process_is_over(tmp_path: Path) -> None:
    with start(TAKES, tmp_path, tmp_path / "over", "this") as other:
        assert other.stdout.readline() == "this False\n"
        other.kill()
    assert take_turn(tmp_path, "this")
    end_turn()


def test_nobody_waits_for_ever_for_a_process_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start(TAKES, tmp_path, tmp_path / "over", "this") as other:
        assert other.stdout.readline() == "this False\n"
        monkeypatch.setattr(turns, "_PATIENCE", 0.1)
        assert take_turn(tmp_path, "this")
        end_turn()
        other.stdin.close()


def test_of_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    (tmp_path / "my_functions.py").write_text("def double(x):\n    return 2 * x\n")
    paths = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    together = [start(COMPILES, PYTHONPATH=paths, RANKONE_CACHE_DIR=str(tmp_path / "cache")) for _ in range(3)]
    for process in together:
        assert process.stdout.readline() == "ready\n"
    for process in together:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0] for process in together) == ["42.0 0\n", "42.0 1\n", "42.0 1\n"]


def test_a_process_that_is_forked_while_another_thread_compiles_can_compile(tmp_path: Path) -> None:
    (tmp_path / "my_functions.py").write_text("def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n")
    paths = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with start(FORKS, PYTHONPATH=paths, RANKONE_CACHE_DIR=str(tmp_path / "cache")) as process:
        assert process.communicate()[0] == "21.0 True None\n"


def test_what_does_not_compile_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path))
    with pytest.raises(TypingError):
        compiled(wrong, __name__)(1)
    (folder,) = (tmp_path / "kernels").iterdir()
    with start(TAKES, folder, "", f"{__name__}.wrong {spelled([numba.int64])}") as other:
        assert other.stdout.readline().startswith(f"{__name__}.wrong")
        other.stdin.close()
    assert turns._file is None


def wrong(x):
    return x.nothing


def test_where_nothing_can_be_written_nobody_waits() -> None:
    assert not take_turn(Path(os.devnull) / "folder", "this")
