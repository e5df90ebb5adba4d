"""Every recipe of CONTRIBUTING.md works as it is written: one file in a copy of the project, and its tests pass there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
WRITTEN = Path(__file__).parent / "recipes"
COPIED = (".ci", "src", "tests", "docs", "benchmarks", "deploy")
ROW = re.compile(r"^\| an? ([^|]+) \| `(src/[^`]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
# What a recipe adds, as the names of its tests have it: the others are as they were.
NEW = ("epsilon-greedy", "my-family", "my-model", "my-format", "my-database", "my_chart", "my-command")
# What else looks at every class of a kind, and is quick. A newcomer's file must not fail there either.
ALSO = (
    "tests/simulation/test_recommend.py::test_every_policy_says_when_to_use_it[epsilon-greedy]",
    "tests/golden/test_golden.py::test_studies_play_as_recorded[best]",
    "src/rankone/live/storage/__init__.py",
    "tests/test_package.py",
    "tests/test_public_api.py",
    "tests/test_paths.py",
    "tests/test_site.py::test_every_public_name_is_in_the_reference",
    "tests/test_site.py::test_every_policy_and_its_parameters_are_in_the_reference",
    "tests/test_site.py::test_every_named_thing_has_its_row",
    "tests/test_site.py::test_every_command_and_option_is_in_the_reference",
    "tests/test_site.py::test_every_public_name_explains_itself",
)


def recipes():
    """What each recipe adds: the file that it says, what stands in it, and the tests that it names."""
    text = CONTRIBUTING.read_text()
    (path,) = re.findall(r"^1\. Write `(src/rankone/policies/[^`]+)`", text, re.MULTILINE)
    (code,) = blocks(CONTRIBUTING, "python")
    found = {"policy": (path, code, re.findall(r"^3\. `(tests/[^`]+)`", text, re.MULTILINE))}
    for what, path, tested_by in ROW.findall(text):
        found[what] = (
            path,
            (WRITTEN / Path(path).name).read_text(),
            re.findall(r"`(tests/\w+/test_\w+\.py)`", tested_by),
        )
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project with one more file for every recipe."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for file in (*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"):
        shutil.copy(file, folder)
    for path, code, _ in recipes().values():
        assert not (folder / path).exists()
        assert (folder / path).parent.is_dir(), f"CONTRIBUTING.md: there is no folder for {path}"
        (folder / path).write_text(code)
    return folder


def run(copy, *command):
    """Run a program in the copy, on the package that is there."""
    environment = os.environ | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    done = subprocess.run([sys.executable, "-m", *command], cwd=copy, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{command[:2]}:\n{done.stdout[-6_000:]}\n{done.stderr[-3_000:]}"
    return done.stdout


def test_there_is_a_recipe_for_everything():
    assert {"policy", "family of problems", "click model", "log format", "storage", "chart", "command"} == set(
        recipes()
    )
    assert all(tests for _, _, tests in recipes().values()), "a recipe names the tests that run by themselves"


def test_what_the_recipes_tell_to_write_passes_its_tests(copy):
    tests = dict.fromkeys(test for _, _, tests in recipes().values() for test in tests)
    assert "`python -m tests.test_public_api` writes it down" in CONTRIBUTING.read_text()
    run(copy, "tests.test_public_api")
    pytest_alone = ("pytest", "-n", "0", "-p", "no:cacheprovider")
    passed = re.findall(
        r"^(\S+\.py)::.* PASSED", run(copy, *pytest_alone, "-v", "-k", " or ".join(NEW), *tests), re.MULTILINE
    )
    assert set(passed) == set(tests), "a file has no test of what its recipe adds"
    run(copy, *pytest_alone, "-q", *ALSO)


def test_what_the_recipes_tell_to_write_is_in_style(copy):
    files = [path for path, _, _ in recipes().values()]
    run(copy, "ruff", "check", "--no-cache", *files)
    run(copy, "ruff", "format", "--no-cache", "--check", *files)
