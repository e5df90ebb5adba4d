"""``rankone --import FILE``: policies of one's own in every command, and what is said when they do not compile."""

import subprocess
import sys

import pytest

POLICY = '''
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from rankone.policies import Policy
from rankone.policies.kernels import choose, update


class FirstPairState(NamedTuple):
    pulls: np.ndarray


@dataclass(frozen=True)
class FirstPair(Policy):
    """Always the first pair."""

    name: ClassVar[str] = "first-pair"

    def start(self, n_rows, n_cols):
        return FirstPairState(np.zeros(1))


@choose.register(FirstPairState)
def _choose(state, rng):
    return 0, 0, 0


@update.register(FirstPairState)
def _update(state, row, col, tag, reward):
    state.pulls[0] += 1
'''


@pytest.fixture
def rankone(tmp_path):
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "broken.py").write_text(POLICY.replace("state.pulls[0] += 1", "state.nothing[0] += 1"))

    def run(*words):
        command = [sys.executable, "-m", "rankone", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_policy_of_ones_own_plays(rankone, workers):
    study = ["simulate", "-p", "needle:2x2", "-P", "first-pair", "--horizon", "10", "--runs", "2"]
    result = rankone("--import", "mine.py", *study, "--workers", workers, "--json")
    assert result.returncode == 0, result.stderr
    assert '"policy": "first-pair"' in result.stdout
    assert "first-pair" in rankone(*study).stderr, "without its file the name is not known"


def test_a_kernel_that_does_not_compile_is_told_in_a_sentence(rankone):
    result = rankone("--import", "broken.py", "simulate", "-p", "needle:2x2", "-P", "first-pair", "--workers", "1")
    assert result.returncode == 2
    *_, last = result.stderr.splitlines()
    assert last.startswith("rankone: expected kernels in broken.py, line 32 that Numba can compile - got Unknown")
    assert "nothing" in last
    assert last.endswith("set NUMBA_DISABLE_JIT=1 to run them as plain Python while you look for it")


def test_a_file_that_is_not_there(rankone):
    result = rankone("--import", "nope.py", "policies")
    assert result.returncode == 2
    assert "expected a Python file to import - got nope.py" in result.stderr
