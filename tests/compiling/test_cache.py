"""Where rankone keeps what it compiled: found again by every process, never taken from strangers, never in the way."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from rankone.compiling import cache, folders
from rankone.compiling.compiled import compiled
from rankone.compiling.folders import cache_roots

NOBODY = 65534
ME = os.geteuid()

# Prints what two functions return, and how often they were found in the cache. Permissions do not bind root.
PROGRAM = """
import os, sys
import numba
import my_functions
from rankone.compiling.compiled import compiled
from rankone.compiling.sources import source_key

numba.njit(lambda x: x)(1)  # whatever else has to be read is read before
source_key("my_functions")
if sys.argv[1] == "nobody" and os.geteuid() == 0:
    os.seteuid(65534)
if sys.argv[1] == "no room":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for name in sys.argv[2:]:
    function = compiled(getattr(my_functions, name), "my_functions")
    print(function(21.0), sum(function.stats.cache_hits.values()))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a directory that other users may look into, as they may not into pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "my_functions.py").write_text("def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n")
        (place / "temporary").mkdir()
        (place / "temporary").chmod(0o777)
        yield place


def run(place: Path, *functions: str, named: Path | None = None, kind: str = "usual") -> list[str]:
    """Run the program in a process without a home that could be written; return the lines it prints."""
    env = {key: value for key, value in os.environ.items() if key not in ("RANKONE_CACHE_DIR", "XDG_CACHE_HOME")}
    paths = f"{place}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    env |= {"HOME": os.devnull, "TMPDIR": str(place / "temporary"), "PYTHONPATH": paths}
    env |= {} if named is None else {"RANKONE_CACHE_DIR": str(named)}
    command = [sys.executable, "-c", PROGRAM, kind, *functions]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "own"))
    assert next(cache_roots()) == tmp_path / "own"
    monkeypatch.delenv("RANKONE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert next(cache_roots()) == tmp_path / "xdg" / "rankone"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert next(cache_roots()) == tmp_path / "home" / ".cache" / "rankone"


def test_without_a_home_all_processes_share_one_directory_of_the_users_own(place: Path) -> None:
    assert run(place, "double") == ["42.0 0"]
    assert run(place, "double") == ["42.0 1"]
    (spare,) = (place / "temporary").iterdir()
    assert spare.name == f"rankone-{ME}"
    assert not stat.S_IMODE(spare.stat().st_mode) & 0o022


def open_to_others(spare: Path) -> None:
    spare.mkdir()
    spare.chmod(0o777)


def open_to_a_group(spare: Path) -> None:
    spare.mkdir()
    spare.chmod(0o775)


def led_elsewhere_by_a_stranger(spare: Path) -> None:
    elsewhere = spare.parent.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    spare.symlink_to(elsewhere)
    os.chown(spare, NOBODY, NOBODY, follow_symlinks=False)


def a_strangers(spare: Path) -> None:
    spare.mkdir(mode=0o700)
    os.chown(spare, NOBODY, NOBODY)


FILLABLE = [open_to_others, open_to_a_group] + ([led_elsewhere_by_a_stranger, a_strangers] if ME == 0 else [])


@pytest.mark.parametrize("made", FILLABLE)
def test_a_directory_that_others_could_fill_is_not_trusted(place: Path, made: Callable[[Path], None]) -> None:
    spare = place / "temporary" / f"rankone-{ME}"
    made(spare)
    assert run(place, "double") == ["42.0 0"]
    assert not list(spare.iterdir())
    assert list(spare.parent.iterdir()) == [spare]


@pytest.mark.parametrize("made", FILLABLE)
def test_nor_is_it_where_it_was_named(
    monkeypatch: pytest.MonkeyPatch, place: Path, made: Callable[[Path], None]
) -> None:
    named = place / "deep" / "named"
    named.parent.mkdir()
    made(named)
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(named))
    monkeypatch.setenv("TMPDIR", str(place / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.warns(UserWarning, match=f"named is not used: others could put code there.*chmod go-w {named}"):
        assert list(cache_roots(make=True)) == [place / "temporary" / f"rankone-{ME}"]


def twice(x):
    return 2 * x


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Any]:
    """Return a root that was made where anybody may write to new files, and a function that is kept in it."""
    monkeypatch.setenv("RANKONE_CACHE_DIR", str(tmp_path / "deep" / "root"))
    before = os.umask(0)
    try:
        root = next(cache_roots(make=True))
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "deep" / "temporary"))
        function = compiled(twice, "no module")
        function(21)
    finally:
        os.umask(before)
        compiled.cache_clear()
    return root, function


def test_whatever_the_umask_what_is_kept_can_be_trusted(kept: tuple[Path, Any]) -> None:
    root, function = kept
    made = [root.parent, root, root / "kernels", *root.rglob("*/*/*.nbc"), *root.glob("kernels/*")]
    assert len(made) == 5
    assert {path.stat().st_mode & 0o022 for path in made} == {0}
    assert function._cache.has((numba.int64,), function.targetctx)


@pytest.mark.parametrize("where", [".", "kernels", "kernels/*", "kernels/*/*.nbc"])
def test_what_others_could_have_written_is_not_run(kept: tuple[Path, Any], where: str) -> None:
    root, function = kept
    (path,) = root.glob(where) if "*" in where else [root / where]
    path.chmod(path.stat().st_mode | 0o002)
    with contextlib.suppress(PermissionError), warnings.catch_warnings(action="ignore"):
        assert not function._cache.has((numba.int64,), function.targetctx)


@pytest.mark.skipif(ME != 0, reason="only root can give files away")
def test_what_a_stranger_left_in_a_directory_that_was_closed_since_is_not_run(place: Path) -> None:
    named = place / "named"
    assert run(place, "double", named=named) == ["42.0 0"]
    (content,) = named.rglob("*.nbc")
    os.chown(content, NOBODY, NOBODY)
    assert run(place, "double", named=named) == ["42.0 0"]
    assert run(place, "double", named=named) == ["42.0 1"]  # it was written again


def test_a_directory_that_is_shared_need_not_be_writable(place: Path) -> None:
    shared = place / "shared"
    assert run(place, "double", named=shared) == ["42.0 0"]
    before = sorted(shared.rglob("*"))
    folders = [shared, *(path for path in before if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert run(place, "double", "half", named=shared, kind="nobody") == ["42.0 1", "10.5 0"]
        assert run(place, "double", "half", named=shared, kind="nobody") == ["42.0 1", "10.5 1"]
        assert sorted(shared.rglob("*")) == before
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_full_disk_does_no_harm(place: Path) -> None:
    assert run(place, "double", named=place / "full", kind="no room") == ["42.0 0"]
    assert not [path for path in place.rglob("*.nb*") if path.stat().st_size]


@pytest.mark.parametrize(("kind", "size"), [("nbc", 0), ("nbc", 20)])
def test_a_file_that_was_cut_short_is_written_again(place: Path, kind: str, size: int) -> None:
    shared = place / "shared"
    assert run(place, "double", named=shared) == ["42.0 0"]
    (file,) = shared.rglob(f"*.{kind}")
    os.truncate(file, size)
    assert run(place, "double", named=shared) == ["42.0 0"]
    assert run(place, "double", named=shared) == ["42.0 1"]


def test_an_image_may_give_the_source_another_time(place: Path) -> None:
    shared, source = place / "shared", place / "my_functions.py"
    assert run(place, "double", named=shared) == ["42.0 0"]
    os.utime(source, (1_000_000, 1_000_000))
    assert run(place, "double", named=shared) == ["42.0 1"]


def test_old_caches_are_pruned_by_last_use_and_nothing_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_CACHES", 4)
    foreign = [tmp_path / "photos", tmp_path / "kernels" / "notes"]
    used = [tmp_path / "kernels" / f"{days:016x}" for days in (1, 20, 29, 31, 40)]
    current = tmp_path / "kernels" / ("f" * 16)
    for folder in (*used, *foreign, current):
        folder.mkdir(parents=True)
        (folder / "kernel.nbc").write_text("x")
        days = int(folder.name, 16) if folder in used else 99
        os.utime(folder, (time.time() - days * 86_400,) * 2)
    cache.tidy(current)
    left = {folder.name for folder in (tmp_path / "kernels").iterdir()}
    assert left == {current.name, "notes", *(folder.name for folder in used[:3])}
    monkeypatch.setattr(cache, "_MOST_CACHES", 2)
    cache.tidy(current)
    assert {folder.name for folder in (tmp_path / "kernels").iterdir()} == {current.name, "notes", used[0].name}
    assert (tmp_path / "photos" / "kernel.nbc").exists()


def test_a_folder_in_which_nothing_can_be_kept_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(folders, "cache_roots", lambda make=False: [tmp_path])
    assert folders.can_keep()
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert not folders.can_keep()
