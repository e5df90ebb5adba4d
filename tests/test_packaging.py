"""What is shipped: wheel and sdist hold the whole package, extras degrade with a sentence, completion completes."""

import itertools
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import rankone

hatchling = pytest.importorskip("hatchling.build")
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = {
    str(file.relative_to(ROOT / "src"))
    for file in (ROOT / "src" / "rankone").rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}


def in_project(call, *arguments):
    """Run a build hook as pip does: in the project's folder, in a process of its own."""
    code = f"import sys; from hatchling import build; print(build.{call}(*sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def python(code, folder, *arguments, env=None):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, env=os.environ | (env or {})
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return zipfile.ZipFile(folder / in_project("build_wheel", str(folder)))


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(wheel.namelist())
    packed = {name for name in names if name.startswith("rankone/")}
    assert packed == SOURCES, "tests and benchmarks stay out, pages, examples and type marks come along"
    (info,) = {name.split("/")[0] for name in names - packed}
    assert info == f"rankone-{rankone.__version__}.dist-info"
    for licence in ("LICENSE", "NOTICE"):
        assert f"{info}/licenses/{licence}" in names


def test_wheel_says_who_it_is(wheel):
    info = f"rankone-{rankone.__version__}.dist-info"
    metadata = wheel.read(f"{info}/METADATA").decode()
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Classifier: Programming Language :: Python :: {version}\n" in metadata
    assert "License-Expression: MIT\n" in metadata
    assert set(re.findall("^Provides-Extra: (.+)$", metadata, re.MULTILINE)) == set(PROJECT["optional-dependencies"])
    assert "rankone = rankone.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()


def test_what_is_unpacked_runs(wheel, tmp_path):
    wheel.extractall(tmp_path)
    run = [sys.executable, "-m", "rankone", "--version"]
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    assert subprocess.check_output(run, cwd=tmp_path, text=True, env=env).strip() == rankone.__version__


def test_sdist_builds_the_same_package(tmp_path):
    with tarfile.open(tmp_path / in_project("build_sdist", str(tmp_path))) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    assert {f"src/{name}" for name in SOURCES} <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "CITATION.cff", "Makefile"} <= names


# The packages that are missing (pydantic comes with Typer), and what a user runs.
WITHOUT = {
    "serve": (["uvicorn", "starlette"], ["serve"]),
    "postgres": (["psycopg"], ["experiments", "postgresql://host/name"]),
    "cluster": (["dask", "distributed"], ["simulate", "-p", "needle:2x2", "-P", "uts", "--cluster", "tcp://host:1"]),
    "yaml": (["yaml"], ["sweep", "mine.yaml", "--out", "out"]),
}
COMMAND = "import sys; sys.argv[0] = 'rankone'; from rankone.cli import main; main()"
BLOCK = """
import sys
blocked = sys.argv[1].split(",")
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
import rankone
"""


@pytest.mark.parametrize("extra", WITHOUT)
def test_a_missing_extra_is_a_sentence(extra, tmp_path):
    packages, words = WITHOUT[extra]
    (tmp_path / "mine.yaml").write_text("runs: 3")
    done = python(f"{BLOCK}\nsys.argv[:] = ['rankone', *sys.argv[2:]]\n{COMMAND}", tmp_path, ",".join(packages), *words)
    assert done.returncode == 2, done.stderr
    assert re.search(rf"rankone: .* needs .* run: pip install 'rankone\[{extra}\]'$", done.stderr.strip()), done.stderr


def test_every_extra_is_tested():
    assert set(WITHOUT) | {"spark"} == set(
        PROJECT["optional-dependencies"]
    )  # only a frame that is there can be counted


def test_without_any_extra_everything_else_is_there(tmp_path):
    packages = [name for names, _ in WITHOUT.values() for name in names] + ["pyspark"]
    use = """
for name in rankone.__all__:
    getattr(rankone, name)
from typer.testing import CliRunner
from rankone.cli import build_app
for words in (["--help"], ["serve", "--help"], ["policies"]):
    assert CliRunner().invoke(build_app(), words).exit_code == 0, words
print(rankone.simulate("needle:2x2", "uniform", horizon=10, runs=1, workers=1).summary()["runs"][0])
"""
    done = python(BLOCK + use, tmp_path, ",".join(packages))
    assert done.stdout.strip() == "1", done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell, tmp_path):
    done = python(COMMAND, tmp_path, env={"_RANKONE_COMPLETE": f"source_{shell}"})
    assert "_RANKONE_COMPLETE" in done.stdout
    assert f"complete_{shell}" in done.stdout


def test_completion_completes(tmp_path):
    env = {"_RANKONE_COMPLETE": "complete_bash", "COMP_WORDS": "rankone check", "COMP_CWORD": "1"}
    assert python(COMMAND, tmp_path, env=env).stdout.split() == ["check-rank1"]
    assert "--install-completion" in python(COMMAND, tmp_path, "--help", env={"COLUMNS": "200"}).stdout


def test_notices_and_citation_name_what_they_should():
    notice = (ROOT / "NOTICE").read_text()
    for requirement in itertools.chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        assert f"    {re.match('[A-Za-z0-9-]+', requirement)[0]} " in notice, requirement
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {rankone.__version__}\n" in citation
    assert "10.24963/ijcai.2017/278" in citation
