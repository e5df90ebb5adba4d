"""The package as others get it: a wheel and an sdist that hold everything, missing extras that say what to install."""

import importlib.metadata
import itertools
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import rankone

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*words, **settings):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, **settings).stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return {path.suffix: path for path in folder.iterdir()}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(distributions):
    source = ROOT / "src"
    ignored = ("__pycache__",)
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "rankone").rglob("*")
        if path.is_file() and not set(path.parts) & set(ignored)
    }
    with zipfile.ZipFile(distributions[".whl"]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        described = wheel.read(metadata).decode()
        licences = [name for name in wheel.namelist() if "/licenses/" in name]
    assert held == wanted
    assert "License-Expression: MIT" in described
    assert {Path(name).name for name in licences} == {"LICENSE", "NOTICE"}


def test_the_sdist_holds_tests_and_docs(distributions):
    with tarfile.open(distributions[".gz"]) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "tests/test_packaging.py", "docs/architecture.md", "CITATION.cff", "Makefile"} <= held


@pytest.fixture(scope="module")
def installed(distributions, tmp_path_factory):
    """The wheel with one policy compiled in it, as `make package` does with more, in an environment of its own.

    Dependencies come from the environment of the tests (`make package` installs them anew); rankone from the wheel.
    """
    folder = tmp_path_factory.mktemp("installed")
    wheel = Path(shutil.copy(distributions[".whl"], folder))
    run(sys.executable, ROOT / "deploy" / "prebuild.py", wheel, "ucb1")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    (target,) = (folder / "venv").glob("lib/python*/site-packages")
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", target, wheel)
    (target / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    return folder / "venv" / "bin" / "python", target


STUDY = """
{change}
from rankone.compiling.compilers import EntryCompiler
def compile_extra(self, function): sys.exit("it compiles")
EntryCompiler.compile_extra = compile_extra
import rankone
print(rankone.simulate("needle:3x5", "ucb1", 200, runs=2, workers=1).table["regret"].sum())
"""
# What is not as it was where the wheel was built, as Numba sees it.
OTHERS = {
    "Numba": "import numba; numba.__version__ = '0.0'",
    "processor": "from numba.core.codegen import JITCPUCodegen as C; C.magic_tuple = lambda codegen: ('arm', 'x', '')",
    "Python": "sys.implementation.cache_tag = 'cpython-399'",
    "sources": (
        "import pathlib; read = pathlib.Path.read_bytes\n"
        "pathlib.Path.read_bytes = lambda path: read(path) + b' ' * path.name.endswith('play.py')"
    ),
}


def study(installed, cache, change=""):
    """Play a study with an empty cache, and end where something would be compiled."""
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"RANKONE_CACHE_DIR": str(cache)}
    code = STUDY.format(change=f"import sys\n{change}")
    return subprocess.run([installed[0], "-c", code], capture_output=True, text=True, env=bare, cwd=cache.parent)


def test_what_the_wheel_brings_is_not_compiled_again(installed, tmp_path):
    done = study(installed, tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    here = rankone.simulate("needle:3x5", "ucb1", 200, runs=2, workers=1).table["regret"].sum()
    assert float(done.stdout) == here, "code for any processor gives the same numbers"
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("other", OTHERS)
def test_compiled_code_of_the_wheel_is_not_used_elsewhere(installed, tmp_path, other):
    assert "it compiles" in study(installed, tmp_path / "cache", OTHERS[other]).stderr


def test_compiled_code_of_the_wheel_that_was_cut_short_is_not_used(installed, tmp_path):
    (code,) = installed[1].glob("rankone/_prebuilt/kernels/*/*.nbc")
    whole = code.read_bytes()
    code.write_bytes(whole[: len(whole) // 2])
    try:
        assert "it compiles" in study(installed, tmp_path / "cache").stderr
    finally:
        code.write_bytes(whole)


def test_the_wheel_works_in_an_environment_of_its_own(installed, tmp_path):
    python, target = installed
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    at_home = {"env": bare, "cwd": tmp_path}
    assert str(target) in run(python, "-c", "import rankone; print(rankone.__file__)", **at_home)
    assert "rank1elim-kl" in run(python, "-m", "rankone", "policies", "--json", **at_home)
    words = ("simulate", "--problem", "needle:2x2", "--policy", "uniform", "--horizon", "50", "--runs", "2", "--json")
    assert '"runs": 2' in run(python, "-m", "rankone", *words, **at_home)


COMMAND = "from rankone.cli import main; import sys; sys.argv = 'rankone {}'.split(); main()"
# What a person does who has not installed an extra, and the module that is not there.
WITHOUT = {
    "cluster": ("distributed", COMMAND.format("simulate --problem needle:2x2 --cluster tcp://127.0.0.1:9")),
    "excel": ("fastexcel", COMMAND.format("analyse book.xlsx")),
    "frames": (
        "pyarrow",
        "import duckdb, rankone; frame = duckdb.sql('select 1 as query, 2 as item, 1 as position, 1 as clicked');"
        "rankone.clicks.count(frame, query='query', item='item', position='position', clicked='clicked')",
    ),
    "gym": ("gymnasium", "import rankone.gym"),
    "mcp": ("mcp", COMMAND.format("mcp")),
    "postgres": ("psycopg", "import rankone; rankone.Experiment('a', ['x'], ['y'], db='postgresql://127.0.0.1/none')"),
    "serve": ("starlette", COMMAND.format("serve")),
    "warehouse": ("ibis", COMMAND.format("analyse --sql visits --connect postgresql://127.0.0.1/none")),
}


@pytest.mark.parametrize("extra", sorted(WITHOUT))
def test_a_missing_extra_says_what_to_install(extra, tmp_path):
    module, code = WITHOUT[extra]
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    code = f"import sys; sys.modules[{module!r}] = None\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    assert f"pip install 'rankone[{extra}]'" in done.stderr


def test_every_extra_is_tried_without():
    assert {*WITHOUT, "spark"} == set(PROJECT["optional-dependencies"])  # Spark: only a frame that is there is counted


def test_without_any_extra_everything_else_is_there(tmp_path):
    missing = [module for module, _ in WITHOUT.values()] + ["pyspark"]
    code = f"""
import sys
sys.modules.update(dict.fromkeys({missing}))
import rankone
for name in rankone.__all__:
    getattr(rankone, name)
study = rankone.simulate("needle:2x2", "uniform", horizon=10, runs=1, workers=1)
from rankone.cli import main
sys.argv = ["rankone", "serve", "--help"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_notices_and_citation_are_up_to_date():
    notice = (ROOT / "NOTICE").read_text()
    for requirement in itertools.chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        assert f"    {re.match('[A-Za-z0-9.-]+', requirement)[0]} " in notice, requirement
    assert f"\nversion: {rankone.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_completion_offers_commands_options_and_names():
    def offered(*words):
        settings = {
            "_RANKONE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        code = "import sys; sys.argv = ['rankone']; from rankone.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | settings
        ).stdout.split()

    assert {"simulate", "simulate-traffic"} <= set(offered("rankone", "sim"))
    assert "--horizon" in offered("rankone", "simulate", "--hor")
    assert offered("rankone", "simulate", "--policy", "ut") == ["uts"]
    assert offered("rankone", "fit", "log.tsv", "--model", "ub") == ["ubm"]
    assert offered("rankone", "fit", "log.tsv", "--format", "open") == ["open-bandit"]


CONSTRAINTS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]


def plain(name):
    return re.sub("[-_.]+", "-", name).lower()


def test_constraints_are_names_and_versions_only():
    for line in CONSTRAINTS:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line), line
    assert len({plain(line.partition("=")[0]) for line in CONSTRAINTS}) == len(CONSTRAINTS)


def test_everything_that_is_asked_for_has_a_tested_version():
    fixed = {plain(line.partition("=")[0]) for line in CONSTRAINTS}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"].values()
    asked = itertools.chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values(), *groups, ["pip"])
    names = {plain(re.match("[A-Za-z0-9_.-]+", each)[0]) for each in asked if isinstance(each, str)}
    assert names <= fixed


def test_tests_and_demo_install_tested_versions_and_only_latest_and_package_do_not():
    recipes = re.findall(r"^([\w./-]+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    installs = [(target, line) for target, lines in recipes for line in lines.splitlines() if "pip install" in line]
    free = {target for target, line in installs if not re.search(r"\$\(PINNED\)|--constraint constraints.txt", line)}
    assert free == {"latest", "package"}
    assert {target for target, _ in installs} - free == {".venv/.ready", ".venv/.dev", ".venv/.docs"}


def test_the_client_alone_is_built_installed_and_used_without_anything_else(tmp_path):
    """Against a service; a report and its sentences come with it, and no module of any other package."""
    from tests.web.helpers import running

    subprocess.run([sys.executable, ROOT / "deploy" / "client.py", tmp_path], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("rankone_client-*.whl")
    assert wheel.stat().st_size < 200_000
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (target,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*install, wheel], check=True)
    code = """
import asyncio, sys
import rankone_client
with rankone_client.Client(sys.argv[1]) as client:
    page = client.create("page", factors={"headline": ["A", "B"]}, seed=1)
    page.tell(page.ask(), True)
    print(page.report().headline)
    try:
        page.tell("0-00", True)
    except rankone_client.errors.UnknownDecision:
        print("unknown")
async def ask():
    async with rankone_client.AsyncClient(sys.argv[1]) as client:
        return await client.experiment("page").ask(visitor="ann")
print(asyncio.run(ask())["headline"] in "AB")
assert not [name for name in sys.modules if name.partition(".")[0] == "rankone"]
"""
    with running(tmp_path / "rankone.db") as url:
        command = [tmp_path / "venv" / "bin" / "python", "-I", "-c", code, url]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Not enough data yet: 1 of 1 visitor clicked.", "unknown", "True"]


def test_the_images_lock_has_the_tested_versions_with_hashes_and_no_address():
    lines = (ROOT / "deploy" / "image.lock").read_text().splitlines()[1:]
    locked = {}
    for line in lines:
        found = re.fullmatch(r"([\w.-]+)==([\w.]+)((?: --hash=sha256:[0-9a-f]{64})+)", line)
        assert found, line
        locked[plain(found[1])] = found[2]
    fixed = dict(line.split("==") for line in CONSTRAINTS)
    assert {name: version for name, version in fixed.items() if plain(name) in locked} != {}
    assert all(locked.get(plain(name), version) == version for name, version in fixed.items())
    needed = itertools.chain(PROJECT["dependencies"], PROJECT["optional-dependencies"]["serve"], ["pip", "hatchling"])
    assert {plain(re.match("[A-Za-z0-9_.-]+", each)[0]) for each in needed} <= set(locked)


def test_the_bill_of_materials_names_what_is_installed():
    done = subprocess.run(
        [sys.executable, ROOT / "deploy" / "bill.py", "sbom"], check=True, capture_output=True, text=True
    )
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    found = {plain(each["name"]): each["version"] for each in bill["components"]}
    assert found["rankone"] == rankone.__version__
    assert found["numpy"] == importlib.metadata.version("numpy")
