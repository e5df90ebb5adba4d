"""``rankone --import FILE``: policies of one's own in every command, and what is said when they do not compile."""

import subprocess
import sys

import pytest

from tests.own_policies import CORNER


@pytest.fixture
def rankone(tmp_path):
    (tmp_path / "mine.py").write_text(CORNER)
    (tmp_path / "broken.py").write_text(CORNER.replace("    pass", "    state.unknown[0] += 1"))

    def run(*words):
        command = [sys.executable, "-m", "rankone", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_policy_of_ones_own_plays(rankone, workers):
    study = ["simulate", "-p", "needle:2x2", "-P", "corner", "--horizon", "10", "--runs", "2"]
    result = rankone("--import", "mine.py", *study, "--workers", workers, "--json")
    assert result.returncode == 0, result.stderr
    assert '"policy": "corner"' in result.stdout
    assert "corner" in rankone(*study).stderr, "without its file the name is not known"


def test_a_kernel_that_does_not_compile_is_told_in_a_sentence(rankone):
    result = rankone("--import", "broken.py", "simulate", "-p", "needle:2x2", "-P", "corner", "--workers", "1")
    assert result.returncode == 2
    *_, last = result.stderr.splitlines()
    assert last.startswith("rankone: expected kernels in broken.py, line 24 that Numba can compile - got Unknown")
    assert "unknown" in last
    assert last.endswith("set NUMBA_DISABLE_JIT=1 to run them as plain Python while you look for it")


def test_a_file_that_is_not_there(rankone):
    result = rankone("--import", "nope.py", "policies")
    assert result.returncode == 2
    assert "expected a Python file to import - got nope.py" in result.stderr


def test_a_file_named_like_a_module_that_is_there(rankone, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "json.py").write_text(CORNER)
    result = rankone("--import", "files/json.py", "policies")
    assert result.returncode == 2
    assert (
        "expected a file name that no other module has - got files/json.py - rename it: 'my_json.py', say"
        in result.stderr
    )
