"""``rankone --import FILE``: policies of one's own in every command, and what is said when they do not compile."""

import pytest

from tests.own_policies import CORNER
from tests.programs import run_python


@pytest.fixture
def rankone(tmp_path):
    (tmp_path / "mine.py").write_text(CORNER)
    (tmp_path / "broken.py").write_text(CORNER.replace("    pass", "    state.unknown[0] += 1"))

    def run(*words):
        command = f"import sys; sys.argv = {['rankone', *words]!r}; from rankone.cli import main; main()"
        return run_python(command, tmp_path)

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
    assert last.startswith("rankone: Expected kernels in broken.py, line 25 that Numba can compile, but got Unknown")
    assert "unknown" in last
    assert last.endswith("Set NUMBA_DISABLE_JIT=1 to run them as plain Python while you look for it.")


@pytest.mark.parametrize("makes", ["nothing + 1", "nothing.max()"])
def test_a_kernel_that_makes_an_array_is_told_what_to_do(rankone, tmp_path, makes):
    (tmp_path / "broken.py").write_text(CORNER.replace("    pass", f"    state.{makes}"))
    result = rankone("--import", "broken.py", "simulate", "-p", "needle:2x2", "-P", "corner", "--workers", "1")
    *_, last = result.stderr.splitlines()
    assert last == (
        "rankone: Expected kernels in broken.py, line 25 that Numba can compile, but got one that makes an array, a list "
        "or a dictionary, or calls what does. Write a loop, keep scratch space in the state, or call a helper declared "
        "with @kernel."
    )


def test_a_file_that_is_not_there(rankone):
    result = rankone("--import", "nope.py", "policies")
    assert result.returncode == 2
    assert "Expected a Python file to import, but got nope.py" in result.stderr


@pytest.mark.parametrize("name", ["json", "time", "polars", "queue", "rankone"])  # imported, built in, or later on
def test_a_file_named_like_a_module_that_is_there(rankone, tmp_path, name):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / f"{name}.py").write_text(CORNER)
    result = rankone("--import", f"files/{name}.py", "policies")
    assert result.returncode == 2
    assert (
        f"Expected a file name that no other module has, but got files/{name}.py. Rename it: 'my_{name}.py', for example."
        in result.stderr
    )


def test_a_file_whose_name_is_no_name(rankone, tmp_path):
    (tmp_path / "my.policy.py").write_text(CORNER)
    result = rankone("--import", "my.policy.py", "policies")
    assert result.returncode == 2
    assert "Expected a file name that Python can import, but got my.policy.py" in result.stderr


def test_a_file_may_be_renamed_or_linked(rankone, tmp_path):
    """What was compiled under its old name is not mistaken for the new one."""
    study = ["simulate", "-p", "needle:2x2", "-P", "corner", "--horizon", "10", "--runs", "2", "--workers", "1"]
    for old, name in (("mine.py", "mine.py"), ("mine.py", "ours.py"), ("ours.py", "linked.py")):
        if name == "linked.py":
            (tmp_path / name).symlink_to(tmp_path / old)
        else:
            (tmp_path / old).rename(tmp_path / name)
        result = rankone("--import", name, *study)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("import rankone\nx = 1 / 0", "ZeroDivisionError in line 2: division by zero"),
        ("def f(:", "SyntaxError in line 1: invalid syntax"),
        ("\nimport nowhere", "ModuleNotFoundError in line 2: No module named 'nowhere'"),
    ],
)
def test_a_file_with_an_error_of_its_own(rankone, tmp_path, text, got):
    (tmp_path / "wrong.py").write_text(text)
    result = rankone("--import", "wrong.py", "policies")
    assert result.returncode == 2
    said = f"Expected a Python file that can be imported, wrong.py, but got {got}. Correct it there."
    assert result.stderr == f"rankone: {said}\n"


def test_a_name_that_is_not_defined_in_a_kernel_is_told_with_its_line(rankone, tmp_path):
    (tmp_path / "broken.py").write_text(CORNER.replace("    pass", "    stat.nothing[0] += 1"))
    result = rankone("--import", "broken.py", "simulate", "-p", "needle:2x2", "-P", "corner", "--workers", "1")
    *_, last = result.stderr.splitlines()
    assert "kernels in broken.py, line 25 that Numba can compile, but got NameError: name 'stat' is not defined" in last


@pytest.mark.parametrize("through", ["_deep", "_other"])
def test_a_helper_that_calls_itself_is_told_with_its_line(rankone, tmp_path, through):
    """Numba compiles it, and fails when it runs: a symbol is not resolved."""
    helpers = (
        "\n\nfrom rankone.compiling.compiled import kernel\n\n\n"
        "@kernel\ndef _deep(nothing, left):\n"
        "    if left <= 0:\n        return 0\n"
        f"    return 1 + {through}(nothing, left - 1)\n\n\n"
        "@kernel\ndef _other(nothing, left):\n    return _deep(nothing, left)\n"
    )
    text = CORNER.replace("    pass", "    state.nothing[0] = _deep(state.nothing, 3)") + helpers
    (tmp_path / "broken.py").write_text(text)
    result = rankone("--import", "broken.py", "simulate", "-p", "needle:2x2", "-P", "corner", "--workers", "1")
    *_, last = result.stderr.splitlines()
    line = next(number for number, each in enumerate(text.splitlines(), 1) if f"1 + {through}" in each)
    assert f"kernels in broken.py, line {line} that Numba can compile, but got a function that calls itself" in last
