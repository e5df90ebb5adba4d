"""The cache of compiled kernels is keyed by every source behind it, and found again."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rankone.compiling import sources as module
from rankone.compiling.compiled import compiled
from rankone.compiling.dispatch import dispatched
from rankone.compiling.sources import source_key
from rankone.policies import known_policies
from tests.own_policies import own_policies


@pytest.fixture(autouse=True)
def _fresh_answers() -> Iterator[None]:
    """The functions answer once a process; here the world changes between questions."""
    forget()
    compiled.cache_clear()
    yield
    forget()
    compiled.cache_clear()


def forget() -> None:
    for answers in (module._of_the_package, module._texts, module._closure_key, module._imports):
        answers.cache_clear()
    module._imported.clear()


def key(of: str = "rankone.policies.factors.ucb1") -> str:
    forget()
    return source_key(of)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package's sources, which the key is taken from."""
    copy = tmp_path / "rankone"
    shutil.copytree(module._PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "_PACKAGE", copy)
    return copy


@pytest.mark.parametrize(
    "source",
    ["numerics/kl.py", "kernels/policy.py", "policies/factors/ucb1.py", "kernels/play.py", "problems/rank_one.py"],
)
def test_a_changed_source_changes_the_key(package: Path, source: str) -> None:
    before = key()
    assert key() == before
    with (package / source).open("a") as file:
        file.write("# one more line\n")
    assert key() != before


def test_a_new_policy_file_changes_the_key(package: Path) -> None:
    before = key()
    (package / "policies" / "mine.py").write_text("x = 1\n")
    assert key() != before


def test_sources_that_no_kernel_comes_from_do_not_count(package: Path) -> None:
    before = key()
    with (package / "errors.py").open("a") as file:
        file.write("# one more line\n")
    assert key() == before


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("numerics/kl.py", True),
        ("policies/engines/index_race.py", True),
        ("policies/factors/thompson.py", False),
        ("policies/engines/unimodal.py", False),
        ("problems/rank_one.py", False),
    ],
)
def test_what_is_compiled_is_kept_under_a_hash_of_what_it_imports(package: Path, source: str, counts: bool) -> None:
    modules = frozenset({"rankone.policies.advance", "rankone.policies.factors.kl_ucb"})
    before = module._closure_key(modules)
    with (package / source).open("a") as file:
        file.write("# one more line\n")
    forget()
    assert (module._closure_key(modules) != before) == counts


@pytest.mark.parametrize("module_of_entry", ["live.report.rates", "pages.recording"])
def test_an_entry_point_outside_the_rooms_of_kernels_counts_with_what_it_imports(module_of_entry: str) -> None:
    files = {
        file.relative_to(module._PACKAGE).as_posix()
        for file in module.files_behind(frozenset({f"rankone.{module_of_entry}"}))
    }
    assert f"{module_of_entry.replace('.', '/')}.py" in files
    assert any(file.startswith("numerics/") for file in files)


def test_files_that_are_replaced_while_their_code_runs_do_not_count(package: Path) -> None:
    before = module._closure_key(frozenset({"rankone.policies.factors.ucb1"}))
    (package / "policies" / "factors" / "kl_ucb.py").write_text("x = 1\n")
    other = module._closure_key(frozenset({"rankone.policies.factors.kl_ucb"}))
    module._closure_key.cache_clear()
    module._imports.cache_clear()
    assert module._closure_key(frozenset({"rankone.policies.factors.ucb1"})) == before
    assert module._closure_key(frozenset({"rankone.policies.factors.kl_ucb"})) == other


@pytest.mark.parametrize("policy", own_policies("all"))
def test_every_kernel_of_a_policy_comes_from_a_file_in_its_hash(policy: str) -> None:
    """Kernels are found by the class of a state: they must be in the state's module, or in one that it imports."""
    home = known_policies()[policy].__module__
    states = [each for each in vars(sys.modules[home]).values() if isinstance(each, type)]
    kernels = {getattr(state, name) for state in states for name in dir(state) if name.startswith("_kernel_")}
    files = set(map(str, module.files_behind(frozenset({home}))))
    assert kernels
    assert {inspect.getfile(getattr(kernel, "py_func", kernel)) for kernel in kernels} <= files


@pytest.fixture
def users_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = tmp_path / "my_policies.py"
    path.write_text("def double(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("my_policies", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "my_policies", found)
    spec.loader.exec_module(found)
    return found


def test_the_users_own_module_is_in_the_key(users_module: ModuleType) -> None:
    before = key("my_policies")
    assert before != key()
    Path(str(users_module.__file__)).write_text("def double(x):\n    return x + x\n")
    assert key("my_policies") != before


@pytest.mark.parametrize("reloaded", [False, True])
def test_a_module_that_is_edited_and_reloaded_is_compiled_anew(
    reloaded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook; and until it is reloaded, the code that runs is not kept as what the file now says."""
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "notes_of_mine.py"
    file.write_text(NOTES)
    notes = importlib.import_module("notes_of_mine")
    assert compiled(asks, "notes_of_mine")(notes.State(1.0)) == 2.0
    before = source_key("notes_of_mine")
    file.write_text(NOTES.replace("2.0 *", "3.0 *"))
    if reloaded:
        importlib.reload(notes)
    assert compiled(asks, "notes_of_mine")(notes.State(1.0)) == (3.0 if reloaded else 2.0)
    assert (source_key("notes_of_mine") != before) == reloaded
    del sys.modules["notes_of_mine"]


NOTES = """
from typing import NamedTuple
from tests.compiling.test_compiled import answer

class State(NamedTuple):
    x: float

@answer.register(State)
def _answer(state):
    return 2.0 * state.x
"""


@dispatched
def answer(state):
    """Answer."""


def asks(state):
    return answer(state)


def test_what_the_users_module_takes_from_files_beside_it_is_in_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helpers_of_mine.py").write_text("import json\n\ndef half(x):\n    return x / 2\n")
    (tmp_path / "policies_of_mine.py").write_text(
        "import numpy\nfrom helpers_of_mine import half\n\nclass State:\n    pass\n"
    )
    (tmp_path / "kernels_of_mine.py").write_text(
        "from policies_of_mine import State\n\ndef decide(state):\n    pass\n\nState._kernel_decide = staticmethod(decide)\n"
    )
    (tmp_path / "unrelated.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("kernels_of_mine")
    before = key("policies_of_mine")
    assert module._users_modules("policies_of_mine") == ["helpers_of_mine", "kernels_of_mine", "policies_of_mine"]
    (tmp_path / "unrelated.py").write_text("x = 2\n")
    assert key("policies_of_mine") == before
    (tmp_path / "helpers_of_mine.py").write_text("def half(x):\n    return x * 0.5\n")
    assert key("policies_of_mine") != before
    for name in ("policies_of_mine", "helpers_of_mine", "kernels_of_mine"):
        monkeypatch.delitem(sys.modules, name)


def test_a_module_without_a_file_has_the_packages_key() -> None:
    assert key("no such module") == key()


def test_a_compiled_function_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, users_module: ModuleType) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    assert compiled(users_module.double, "my_policies")(21) == 42
    assert list((tmp_path / "cache" / "kernels").rglob("*.nbc"))
    compiled.cache_clear()
    again = compiled(users_module.double, "my_policies")
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


def test_code_of_other_types_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, users_module: ModuleType
) -> None:
    """Whatever has a file's name."""
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    double = compiled(users_module.double, "my_policies")
    assert (double(21), double(0.25)) == (42, 0.5)
    of_whole, of_real = sorted((tmp_path / "cache").rglob("*.nbc"))
    of_real.replace(of_whole)
    compiled.cache_clear()
    assert compiled(users_module.double, "my_policies")(21) == 42
