"""What rankone keeps on disk for speed: where that is, and the compiled functions among it.

The directory is $RANKONE_CACHE_DIR, or one in the user's cache directory. Where it cannot be written (a service without
a home, a container), what is there is still used and what is missing goes to a directory of the user's own below the
system's temporary one, the same for all processes. Where that cannot be either, nothing is kept.

What is found there is run. So directories and files count only if they belong to this user or to root and nobody else
can write to them (`is_closed`), and all that is made here is made so, whatever the umask.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from numba.core import caching

from rankone.compiling.turns import begin_saving, end_turn, take_turn

_KEPT_CACHES = 8
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_roots(make: bool = False) -> Iterator[Path]:
    """Yield the directories to look in, in this order; what is new is kept in the first that can be written.

    With `make`, they are made where they are missing.
    """
    roots = []
    named = os.environ.get("RANKONE_CACHE_DIR")
    with contextlib.suppress(RuntimeError):  # a user without a home
        roots.append(
            Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankone"
        )
    if hasattr(os, "geteuid"):
        with contextlib.suppress(OSError):
            roots.append(Path(tempfile.gettempdir()) / f"rankone-{os.geteuid()}")
    for root in roots:
        if make:
            with contextlib.suppress(OSError):
                make_folder(root)
        if is_closed(root):
            yield root
        else:
            do = f"let it belong to this user or to root, empty it, and chmod go-w {root}"
            warnings.warn(f"{root} is not used: others could put code there that is run; {do}", stacklevel=2)


def is_closed(path: Path) -> bool:
    """Return whether a file or a directory belongs to this user or to root, and nobody else can write to it.

    What is missing is closed. A link must belong to one of the two as well, like what it leads to.

    >>> is_closed(Path(tempfile.mkdtemp()))
    True
    """
    with contextlib.suppress(OSError):
        if hasattr(os, "geteuid"):
            link, result = path.lstat(), path.stat()
            return {link.st_uid, result.st_uid} <= {0, os.geteuid()} and not result.st_mode & _OTHERS_WRITE
    return True


def make_folder(folder: Path) -> None:
    """Make a directory, and those above it, to which only this user can write."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)


def can_keep(key: str) -> bool:
    """Tell whether what is compiled from these sources can be kept in some root; or some root has such already."""
    # The folder alone may have been made by who waited for a turn.
    if any(any((root / "kernels" / key).glob("*.nbi")) for root in cache_roots()):
        return True
    for root in cache_roots(make=True):
        with contextlib.suppress(OSError):
            make_folder(root / "kernels")
            tempfile.TemporaryFile(dir=root / "kernels").close()
            return True
    return False


class KernelCache(caching.NullCache):
    """Where Numba looks for one compiled function, and keeps it: in a folder `key` of each root.

    Args:
        entry: the function before it is compiled.
        key: asked whenever types are new: the folder of its cache, a hash of all it is made from.
    """

    cache_path: Path | None = None  # root in which the function was found, or is kept

    def __init__(self, entry: Callable[..., Any], key: Callable[[], str]) -> None:
        self._entry, self._ask, self._key = entry, key, ""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function compiled for these types; None if no root has it: then it is this process's turn."""
        self._look_in(self._ask())
        result = self._find(sig, target_context)
        if result is None:
            what = f"{self._entry.__module__}.{self._entry.__qualname__} {spelled(sig)}"
            if any(self._take_turn(root, what) for root in cache_roots(make=True)):
                result = self._find(sig, target_context)  # by whoever had the turn before
            if result is not None:
                end_turn()
        return result

    def has(self, sig: Any, target_context: Any) -> bool:
        """Tell whether some root has the function compiled for these types; nobody waits for a turn."""
        self._look_in(self._ask())
        return any(self._at(root).has(sig, target_context) for root in cache_roots())

    def _take_turn(self, root: Path, what: str) -> bool:
        folder = root / "kernels" / self._key
        with contextlib.suppress(OSError):  # read-only, or full
            make_folder(folder)
            return take_turn(folder, what)
        return False

    def _look_in(self, key: str) -> None:
        if key != self._key:
            self._key = key
            for root in cache_roots():
                tidy(root / "kernels" / key)

    def _find(self, sig: Any, target_context: Any) -> Any:
        for root in cache_roots():
            with contextlib.suppress(Exception):  # a file that was cut short raises nearly anything
                result = self._at(root).load_overload(sig, target_context)
                # Two processes that save at the same time may leave one's code under the other's types.
                if result is not None and result.signature.args == sig:
                    self.cache_path = root
                    return result
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the function in the first root that takes it; the turn ends."""
        begin_saving()
        try:
            for root in cache_roots(make=True):
                with contextlib.suppress(OSError):
                    files = self._at(root)
                    try:
                        files.save_overload(sig, cres)
                    except OSError:
                        raise
                    except Exception:  # the index cannot be read: begin a new one
                        files.flush()
                        files.save_overload(sig, cres)
                    self.cache_path = root
                    return
        finally:
            end_turn()

    def _at(self, root: Path) -> Any:
        return _Files(self._entry, root / "kernels" / self._key)


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
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~_OTHERS_WRITE)
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
    """Keep the few caches that were used last, so that upgrades do not fill the disk."""
    with contextlib.suppress(OSError):  # not made yet, or another process tidies up, or it is not ours to change
        os.utime(current)
        used = {
            folder: folder.stat().st_mtime
            for folder in current.parent.iterdir()
            if re.fullmatch("[0-9a-f]{16}", folder.name) and folder != current
        }
        for folder in sorted(used, key=lambda folder: used[folder])[: max(0, len(used) - _KEPT_CACHES + 1)]:
            shutil.rmtree(folder, ignore_errors=True)
