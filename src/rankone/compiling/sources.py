"""Hashes of the sources behind compiled code: change a line, and the next process compiles what it may change.

Numba checks only the file of the function it caches. So a cache is named after a hash of all files that the function's
modules import, directly or not: `closure_key`. Studies note the hash of all sources: `source_key`.
"""

import functools
import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

_PACKAGE = Path(__file__).resolve().parents[1]
# Rooms that kernels, and what is compiled into them, can come from.
_ROOMS = ("compiling", "numerics", "kernels", "evidence", "problems", "policies", "simulation", "clicks")
_IMPORT = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)


def source_key(*modules: str) -> str:
    """Hash of the package's sources and of the modules (perhaps a user's) that define a policy or a problem."""
    digest = _of_the_package().copy()
    for module in dict.fromkeys(modules):
        for name in _users_modules(module):
            digest.update(_as_imported(name))
    return digest.hexdigest()[:16]


@functools.cache
def _of_the_package() -> Any:
    return _hashed(file for file in sorted(_texts()) if _room(file) in _ROOMS)


@functools.cache
def _texts() -> dict[Path, bytes]:
    """Read all files of the package, once: they may be replaced while their old code runs."""
    return {file: file.read_bytes() for file in _PACKAGE.rglob("*.py")}


def _room(file: Path) -> str:
    return file.relative_to(_PACKAGE).parts[0]


def _hashed(files: Iterable[Path]) -> Any:
    digest = hashlib.sha256(numba.__version__.encode())
    for file in files:
        digest.update(_texts()[file])
    return digest


def closure_key(*modules: str) -> str:
    """Hash of the files that modules import, directly or not; of a user's own modules, of all of the package, too."""
    own = [module for module in dict.fromkeys(modules) if _users_file(module) is not None]
    if own:  # types are cached by the module's name: a file that is renamed needs another cache
        return hashlib.sha256(f"{source_key(*modules)} {' '.join(own)}".encode()).hexdigest()[:16]
    return _closure_key(frozenset(modules))


@functools.cache
def _closure_key(modules: frozenset[str]) -> str:
    return str(_hashed(sorted(files_behind(modules))).hexdigest()[:16])


def files_behind(modules: frozenset[str]) -> set[Path]:
    """Return the files of modules of the package, and what they import, directly or not, from kernels' rooms."""
    first = {file for module in modules for file in _files_of(module)}
    result, waiting = {file for file in _texts() if _room(file) == "compiling"}, set(first)
    while waiting:
        file = waiting.pop()
        if file not in result and (file in first or _room(file) in _ROOMS):
            result.add(file)
            waiting |= _imports(file)
    return result


@functools.cache
def _imports(file: Path) -> set[Path]:
    """Return the files of the package that a file imports at its top, where kernels find what they use."""
    names: set[str] = set()
    for package, listed, module in _IMPORT.findall(_texts()[file].decode()):
        names.add(package or module)
        names.update(f"{package}.{name}" for name in re.findall(r"\w+", listed))
    return {path for name in names for path in _files_of(name)}


def _files_of(module: str) -> list[Path]:
    """Return the file of a module of the package; none for what is no module."""
    first, *parts = module.split(".")
    path = _PACKAGE.joinpath(*parts)
    files = (path.with_suffix(".py"), path / "__init__.py") if first == "rankone" and parts else ()
    return [file for file in files if file in _texts()]


_imported: dict[str, tuple[Any, bytes]] = {}  # of a user's module: its import, and the source that was read then


def _as_imported(module: str) -> bytes:
    """Return the source of a user's module, read once for each import: a file may change while its old code runs."""
    imported = getattr(sys.modules[module], "__spec__", None)  # a new one with each `importlib.reload`
    if module not in _imported or _imported[module][0] is not imported:
        file = _users_file(module)
        _imported[module] = imported, b"" if file is None else file.read_bytes()
    return _imported[module][1]


def _users_modules(module: str) -> list[str]:
    """Return a module of the user's, and those beside it that it takes something from, kernels perhaps: by file."""
    result: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _users_file(name)
        if name in result or file is None or (result and not _belong_together(module, result[module], name, file)):
            continue
        result[name] = file
        for value in list(vars(sys.modules[name]).values()):
            registered = list(vars(value).values()) if isinstance(value, type) else []  # kernels are kept on classes
            for thing in (value, *registered):
                other = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
                if isinstance(other, str):
                    waiting.append(other)
    return sorted(result, key=lambda name: result[name])


def _belong_together(module: str, file: Path, other: str, others_file: Path) -> bool:
    """Tell whether two modules are of one package, or lie in one folder that is not that of all installed packages."""
    if module.partition(".")[0] == other.partition(".")[0]:
        return True
    return file.parent in others_file.parents and file.parent.name not in ("site-packages", "dist-packages")


def _users_file(module: str) -> Path | None:
    """Return the file of a module of the user's; None for the package's own."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and _PACKAGE not in Path(file).resolve().parents else None
