"""The cache of compiled kernels: keyed by every source behind it, small, and found again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rankone.numerics import compiled as module
from rankone.numerics.compiled import cache_root, compiled, source_key


@pytest.fixture(autouse=True)
def _fresh_answers() -> Iterator[None]:
    """The functions answer once a process; here the world changes between questions."""
    answers = (source_key, compiled, module._cache_directory)
    for function in answers:
        function.cache_clear()
    yield
    for function in answers:
        function.cache_clear()


def key(of: str = "rankone.policies.ucb1") -> str:
    source_key.cache_clear()
    return source_key(of)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package's sources, which the key is taken from."""
    copy = tmp_path / "rankone"
    shutil.copytree(module._PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "_PACKAGE", copy)
    return copy


@pytest.mark.parametrize("source", ["numerics/kl.py", "policies/kernels.py", "policies/ucb1.py", "simulation/play.py"])
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


def test_a_module_without_a_file_has_the_packages_key() -> None:
    assert key("no such module") == key()


def test_cache_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
    monkeypatch.delenv("RANKONE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "rankone"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "home" / ".cache" / "rankone"


def test_a_compiled_function_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, users_module: ModuleType) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "cache"))
    assert compiled(users_module.double, "my_policies")(21) == 42
    assert list((tmp_path / "cache" / "kernels").rglob("*.nbi"))  # the index that Numba writes for a cached function
    compiled.cache_clear()
    again = compiled(users_module.double, "my_policies")
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


def test_old_caches_are_pruned_by_last_use_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path))
    foreign = [tmp_path / "photos", tmp_path / "kernels" / "notes"]
    old = [tmp_path / "kernels" / f"{age:016x}" for age in range(12)]
    for age, folder in enumerate([*old, *foreign]):
        folder.mkdir(parents=True)
        (folder / "kernel.nbc").write_text("x")
        os.utime(folder, (1_000_000 - age, 1_000_000 - age))
    current = module._cache_directory("f" * 16)
    left = {folder.name for folder in (tmp_path / "kernels").iterdir()}
    assert left == {current.name, "notes", *(folder.name for folder in old[: module._KEPT_CACHES - 1])}
    assert (tmp_path / "photos" / "kernel.nbc").exists()


def test_a_home_that_cannot_be_written_does_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(blocked))
    assert module._cache_directory("f" * 16).is_dir()
