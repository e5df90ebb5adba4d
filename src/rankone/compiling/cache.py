"""Compiled functions on disk, in the directories of `rankone.compiling.folders` and, last, in the package itself.

A wheel brings functions that most people run, compiled for no processor in particular (`deploy/prebuild.py`). They are
used by the same version of Python and of Numba, on the same kind of processor and system, as long as the sources are
those of the wheel; for anything else, they are not there.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from numba.core import caching, types

from rankone.compiling.folders import OTHERS_WRITE, cache_roots, is_closed, make_folder
from rankone.compiling.turns import begin_saving, end_turn, take_turn

_MONTH = 30 * 86_400.0  # seconds
_MOST_CACHES = 1_000  # folders: one for each policy and version of its sources


_PREBUILT = Path(__file__).resolve().parents[1] / "_prebuilt"
_ANY_PROCESSOR = ("generic", "")  # its name and features
_used: set[Path] = set()  # folders that this process has looked in


class KernelCache(caching.NullCache):
    """Where Numba looks for one compiled function, and keeps it: in a folder of each root, named by `key`, a function
    from the modules of its types to a hash of all it is made from.
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
        return any(files.has(sig, target_context) for _, files in self._all_files(sig))

    def _all_files(self, sig: Any) -> Iterator[tuple[Path, Any]]:
        """Yield the folder of each root, and that of the wheel, with the files in it."""
        for folder in self._folders(sig):
            yield folder, _Files(self._entry, folder)
        prebuilt = _PREBUILT / "kernels" / self._key(*sorted(set(_modules_of(sig))))
        if prebuilt.is_dir():
            yield prebuilt, _Prebuilt(self._entry, prebuilt)

    def _folders(self, sig: Any, make: bool = False) -> list[Path]:
        """Return the folder of each root; the caches beside one that is new to this process are tidied."""
        key = self._key(*sorted(set(_modules_of(sig))))
        folders = [root / "kernels" / key for root in cache_roots(make)]
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
        for folder, files in self._all_files(sig):
            with contextlib.suppress(Exception):  # a file that was cut short raises nearly anything
                result = files.load_overload(sig, target_context)
                # Two processes that save at the same time may leave one's code under the other's types.
                if result is not None and result.signature.args == sig:
                    self.cache_path = folder.parents[1]
                    with contextlib.suppress(OSError):  # of another user's
                        os.utime(folder)
                    return result
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the function in the first root that takes it; the turn ends."""
        begin_saving()
        try:
            for folder in self._folders(sig, make=True):
                with contextlib.suppress(OSError):
                    files: Any = _Files(self._entry, folder)
                    try:
                        files.save_overload(sig, cres)
                    except OSError:
                        raise
                    except Exception:  # the index cannot be read: begin a new one
                        files.flush()
                        files.save_overload(sig, cres)
                    self.cache_path = folder.parents[1]
                    return
        finally:
            end_turn()


def _modules_of(sig: Any) -> Iterator[str]:
    """Yield the modules of states and worlds: their kernels are compiled in."""
    for kind in sig:
        if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
            yield kind.instance_class.__module__
            yield from _modules_of(kind)


class _Files(caching.FunctionCache):
    """Numba's files of one function, in a directory that is given and not made before there is something to keep."""

    def __init__(self, entry: Callable[..., Any], directory: Path) -> None:
        self._impl_class: Any = functools.partial(_Content, directory)
        super().__init__(entry)  # type: ignore[no-untyped-call]
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _ClosedFiles(str(directory), self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

    def has(self, sig: Any, target_context: Any) -> bool:
        """Tell whether the index names these types."""
        with contextlib.suppress(Exception):  # a file that was cut short raises nearly anything
            index: Any = self._cache_file._load_index()  # type: ignore[no-untyped-call]
            return self._index_key(sig, target_context.codegen()) in index
        return False

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return what the index knows a function by: types in words, as an index of all types takes long to read."""
        _, *others = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return spelled(sig), *others


class _Prebuilt(_Files):
    """What a wheel brings; it is trusted as far as the package that it is in."""

    def __init__(self, entry: Callable[..., Any], directory: Path) -> None:
        super().__init__(entry, directory)
        stamp, name = self._impl.locator.get_source_stamp(), self._impl.filename_base
        self._cache_file = caching.IndexDataCacheFile(str(directory), name, stamp)  # type: ignore[no-untyped-call]

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return what it is known by: the system and the kind of processor count, not its name."""
        words, (triple, *_), *others = super()._index_key(sig, codegen)
        return words, (triple, *_ANY_PROCESSOR), *others


class _ClosedFiles(caching.IndexDataCacheFile):
    """Files that only this user or root can have written, in directories of which the same is true."""

    def _load_index(self) -> Any:
        self._check(self._index_path)
        return super()._load_index()  # type: ignore[no-untyped-call]

    def _load_data(self, name: str) -> Any:
        self._check(self._data_path(name))  # type: ignore[no-untyped-call]
        return super()._load_data(name)  # type: ignore[no-untyped-call]

    def _check(self, path: str) -> None:
        file = Path(path)
        if not all(map(is_closed, (file, *file.parents[:3]))):  # the key's, "kernels" and the root
            raise PermissionError(f"others could have written {path}")

    @contextlib.contextmanager
    def _open_for_write(self, path: str) -> Iterator[IO[bytes]]:
        with super()._open_for_write(path) as file:
            if hasattr(os, "geteuid"):
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~OTHERS_WRITE)
            yield file


def spelled(sig: Any) -> str:
    """Return types in words; states of different modules may have the same name."""
    return ", ".join(f"{getattr(getattr(kind, 'instance_class', None), '__module__', '')} {kind}" for kind in sig)


class _Content(caching.CompileResultCacheImpl):
    def __init__(self, directory: Path, entry: Callable[..., Any]) -> None:
        self._locator, self._lineno = _Place(directory, entry), entry.__code__.co_firstlineno
        name, flags = f"{entry.__module__}.{entry.__qualname__}", getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(name, flags)  # type: ignore[no-untyped-call]


class _Place(caching._CacheLocator):
    """Names the files of one function, and says by the content of its source whether they are up to date.

    Older versions of Numba go by the source's time and size instead, which differ between a build machine and an image.
    """

    def __init__(self, directory: Path, entry: Callable[..., Any]) -> None:
        self._py_file, self._lineno, self._directory = inspect.getfile(entry), entry.__code__.co_firstlineno, directory

    def get_cache_path(self) -> str:
        return str(self._directory)

    def ensure_cache_path(self) -> None:
        make_folder(self._directory)

    def get_source_stamp(self) -> str:
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self._lineno)


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
