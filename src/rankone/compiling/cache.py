"""Compiled functions on disk, in the directories of `rankone.compiling.folders` and, last, in the package itself.

A wheel brings functions that most people run, compiled for no processor in particular (`deploy/prebuild.py`). They are
used by the same version of Python and of Numba, on the same kind of processor and system, as long as the sources are
those of the wheel; for anything else, they are not there.

Processes that need the same function compile it once: one does, the others wait and read what it has kept. A *turn* is
a lock on one byte of a file beside what is kept: it ends with the process that has it.
"""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import caching, types
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from rankone.compiling.folders import cache_roots, is_closed, make_folder
from rankone.errors import StorageError
from rankone.writing import write_file

if sys.platform != "win32":  # there nobody waits, and all compile
    import fcntl

_MONTH = 30 * 86_400.0  # seconds
_MOST_CACHES = 1_000  # folders: one for each policy and version of its sources


_PREBUILT = Path(__file__).resolve().parents[1] / "_prebuilt"
_ANY_PROCESSOR = ("generic", "")  # its name and features
_used: set[Path] = set()  # folders that this process has looked in
_PATIENCE = 60.0  # seconds: by then a process that compiles is finished, or stopped, and nobody need wait for it
_PAUSE = 0.02
_file: IO[bytes] | None = None  # one turn a process: Numba lets one thread compile at a time


class KernelCache(caching.NullCache):
    """Where Numba looks for one compiled function, and keeps it: in a folder of each root, named by `key`, a function
    from the modules of its types to a hash of all it is made from; a file for each types, system and processor.
    """

    cache_path: Path | None = None  # root in which the function was found, or is kept

    def __init__(self, entry: Callable[..., Any], key: Callable[..., str]) -> None:
        self._entry, self._key = entry, key

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function compiled for these types; None if no root has it: then it is this process's turn."""
        result = self._find(sig, target_context)
        if result is None:
            what = f"{self._entry.__module__}.{self._entry.__qualname__} {spelled(sig)}"
            if any(self._take_turn(folder, what) for folder in self._folders(sig, make=True)):
                result = self._find(sig, target_context)  # by whoever had the turn before
            if result is not None:
                end_turn()
        return result

    def has(self, sig: Any, target_context: Any) -> bool:
        """Tell whether some root has the function compiled for these types; nobody waits for a turn."""
        return any(map(_is_trusted, self._files(sig, target_context.codegen())))

    def _files(self, sig: Any, codegen: Any) -> Iterator[Path]:
        """Yield where the function may be: in the folder of each root, and in that of the wheel."""
        triple, *processor = codegen.magic_tuple()
        for folder in self._folders(sig):
            yield folder / self._name(sig, triple, *processor)
        yield _PREBUILT / "kernels" / self._folder_name(sig) / self._name(sig, triple, *_ANY_PROCESSOR)

    def _name(self, sig: Any, *system: str) -> str:
        name = re.sub("[<>]", "", f"{self._entry.__module__}.{self._entry.__qualname__}")
        about = repr((spelled(sig), system, numba.__version__, sys.implementation.cache_tag, sys.abiflags))
        return f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:16]}.nbc"

    def _folder_name(self, sig: Any) -> str:
        return self._key(*sorted(set(_modules_of(sig))))

    def _folders(self, sig: Any, make: bool = False) -> list[Path]:
        """Return the folder of each root; the caches beside one that is new to this process are tidied."""
        folders = [root / "kernels" / self._folder_name(sig) for root in cache_roots(make)]
        for folder in folders:
            if folder not in _used:
                _used.add(folder)
                tidy(folder)
        return folders

    @staticmethod
    def _take_turn(folder: Path, what: str) -> bool:
        with contextlib.suppress(OSError):  # read-only, or full
            make_folder(folder)
            return take_turn(folder, what)
        return False

    def _find(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        for file in filter(_is_trusted, self._files(sig, target_context.codegen())):
            with contextlib.suppress(Exception):  # a file that was cut short raises nearly anything
                content: Any = pickle.loads(file.read_bytes())  # noqa: S301  # of nobody else
                result: Any = CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]
                if result.signature.args == sig:
                    self.cache_path = file.parents[2]
                    with contextlib.suppress(OSError):  # of another user's
                        os.utime(file.parent)
                    return result
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the function in the first root that takes it; the turn ends."""
        try:
            if cres.library.has_dynamic_globals:  # addresses of this process
                return
            content, name = dumps(cres._reduce()), self._name(sig, *cres.codegen.magic_tuple())  # type: ignore[no-untyped-call]
            for folder in self._folders(sig, make=True):
                with contextlib.suppress(OSError, StorageError):
                    make_folder(folder)
                    (folder / name).unlink(missing_ok=True)  # with its permissions
                    write_file(folder / name, content, mode=0o644)
                    self.cache_path = folder.parents[1]
                    return
        finally:
            end_turn()


def _is_trusted(file: Path) -> bool:
    """Tell whether there is a file that only this user or root can have written, or that came with the package."""
    if not file.is_file():
        return False
    return _PREBUILT in file.parents or all(map(is_closed, (file, *file.parents[:3])))  # the key's, "kernels", the root


def _modules_of(sig: Any) -> Iterator[str]:
    """Yield the modules of states and worlds: their kernels are compiled in."""
    for kind in sig:
        if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
            yield kind.instance_class.__module__
            yield from _modules_of(kind)


def spelled(sig: Any) -> str:
    """Return types in words; states of different modules may have the same name."""
    return ", ".join(f"{getattr(getattr(kind, 'instance_class', None), '__module__', '')} {kind}" for kind in sig)


def tidy(current: Path) -> None:
    """Drop caches that nobody has used for a month, and the oldest of very many: upgrades must not fill the disk."""
    with contextlib.suppress(OSError):  # not made yet, or another process tidies up, or it is not ours to change
        os.utime(current)
        used = {
            folder: folder.stat().st_mtime
            for folder in current.parent.iterdir()
            if re.fullmatch("[0-9a-f]{16}", folder.name) and folder != current
        }
        newest = sorted(used, key=lambda folder: used[folder], reverse=True)
        for rank, folder in enumerate(newest, start=1):
            if rank >= _MOST_CACHES or used[folder] < time.time() - _MONTH:
                shutil.rmtree(folder, ignore_errors=True)


def take_turn(folder: Path, what: str) -> bool:
    """Wait until no other process compiles the same; return whether this folder can be used for that."""
    global _file
    end_turn()
    if sys.platform == "win32":
        return False
    with contextlib.suppress(OSError):  # read-only, full, or on a file system without locks
        _file = (folder / "turns").open("ab")
        _wait_for(_file, int.from_bytes(hashlib.sha256(what.encode()).digest()[:6]))
        return True
    return False


def _wait_for(file: IO[bytes], byte: int) -> None:
    end = time.monotonic() + _PATIENCE
    while not _locked(file, byte) and time.monotonic() < end:
        time.sleep(_PAUSE)


def _locked(file: IO[bytes], byte: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return False
    return True


def end_turn() -> None:
    """Let the others go on."""
    global _file
    if _file is not None:
        _file.close()
        _file = None
