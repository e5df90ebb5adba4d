"""Compiled entry points, and the kernels that they call.

Kernels are functions that only compiled code calls; Python runs them as they are written, which gives the same bits
(`rankone.compiling.tiers`). What is compiled is kept on disk (`rankone.compiling.cache`) under a hash of the sources
behind it (`rankone.compiling.sources`).
"""

import ast
import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.runtime.context import NRTContext
from numba.extending import reflect

from rankone.compiling.cache import KernelCache
from rankone.compiling.compilers import EntryCompiler, KernelCompiler
from rankone.compiling.sources import closure_key
from rankone.errors import InputError

# Division by zero gives inf or nan as in NumPy: no error paths to compile, smaller and faster kernels. Nobody calls
# from C, and only compiled code calls kernels: leaving these entries out saves a third of the compile time.
_SEMANTICS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = _SEMANTICS | {"no_cpython_wrapper": True, "pipeline_class": KernelCompiler}
# A state is borrowed from whoever drives the policy. Counting references to its arrays would cost more than the step
# itself, so the kernels of a step count none; they cannot make arrays (a `kernel` they call can). Numba hands these
# two options down to callees that do not set them, so every kind of function sets both.
_COUNTED: dict[str, Any] = {"_nrt": True, "forceinline": False}
_BORROWED: dict[str, Any] = {"_nrt": False, "forceinline": False}
_INLINED: dict[str, Any] = {"_nrt": False, "forceinline": True}
STEP = _INNER | _INLINED
# What Numba says of a kernel that calls itself: when it runs, or where it comes back through another one.
_CALLS_ITSELF = ("aborted due to unresolved symbol", "runaway recursion")
# And of a kernel of a step that makes an array all the same.
_MAKES_ARRAYS = ("NRT required but not enabled", "Only accept returning of array passed into the function")

Function = TypeVar("Function", bound=Callable[..., Any])


@reflect(types.NumPyRandomGeneratorType)  # type: ignore[no-untyped-call,untyped-decorator]
def _release(kind: types.NumPyRandomGeneratorType, generator: Any, call: Any) -> None:
    """Free, when a call that counts no references ends, what Numba allocated to pass a generator in.

    Numba allocates in every call (64 bytes that also hold on to the generator) and frees only in those that count.
    """
    if not call.context.enable_nrt:
        counting: Any = NRTContext(call.context, enabled=True)  # type: ignore[no-untyped-call]
        counting.decref(call.builder, kind, generator)


class _Kernel(CPUDispatcher):
    """What compiled code compiles in, and Python runs as it is written."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.py_func(*arguments, **named)


def _kernel(python: Function, options: dict[str, Any]) -> Function:
    result: Any = numba.njit(**options)(python)
    if isinstance(result, CPUDispatcher):  # with NUMBA_DISABLE_JIT=1 it is the function itself
        result.__class__ = _Kernel
    return result


def kernel(python: Function) -> Function:
    """Compile a function that only compiled code calls; Python runs it as it is written."""
    return _kernel(python, _INNER | _COUNTED)


def noalloc(python: Function) -> Function:
    """Compile a kernel that makes no arrays: calling it does not count references to those of its state."""
    return _kernel(python, _INNER | _BORROWED)


def inlined(python: Function) -> Function:
    """Compile a noalloc kernel into each place that calls it: for the few instructions of a step's fast path."""
    return _kernel(python, STEP)


@contextlib.contextmanager
def compile_errors_explained(module: str) -> Iterator[None]:
    """Turn Numba's pages about a policy's kernels that do not compile into a sentence that names the line."""
    try:
        yield
    except (NumbaError, RuntimeError) as error:
        if any(sign in str(error) for sign in _CALLS_ITSELF):
            file = getattr(sys.modules.get(module), "__file__", None) or module
            number = _first_recursion(file)
            where = Path(file).name + (f", line {number}" if number else "")
            got = "a function that calls itself, maybe through another one"
            raise InputError(f"kernels in {where} that Numba can compile", got, "write a loop instead") from error
        if isinstance(error, NumbaError):
            raise _in_a_sentence(str(error), module) from error
        raise


def _first_recursion(file: str) -> int | None:
    """Return the line of the first call by which a function of a file comes back to itself; None: there is none."""
    if not Path(file).is_file():
        return None
    calls: dict[str, list[ast.Name]] = {}
    for function in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(function, ast.FunctionDef):
            named = [each.func for each in ast.walk(function) if isinstance(each, ast.Call)]
            calls[function.name] = [each for each in named if isinstance(each, ast.Name)]
    found = list[int]()
    for name, made in calls.items():
        for call in made:
            reached, ahead = set[str](), [call.id]
            while ahead:
                each = ahead.pop()
                ahead += [] if each in reached else [next_one.id for next_one in calls.get(each, [])]
                reached.add(each)
            found += [call.lineno] * (name in reached)
    return min(found, default=None)


def _in_a_sentence(text: str, module: str) -> InputError:
    """Find the line and the reason in Numba's text: of the error of a kernel that another one calls, Numba keeps
    nothing else. If the text changes, all of it is shown.
    """
    file = getattr(sys.modules.get(module), "__file__", None) or module
    line = re.search(rf'{re.escape(Path(file).name)}"?(?:, line | \()(\d+)', text)
    above = text[: line.start()] if line else text  # reasons nest; the last before the file is named is its own
    reasons = re.findall(r"Failed in nopython mode pipeline .*\n\s*(.+)", above)
    got = reasons[-1] if reasons else text
    number = line[1] if line else _first_use(file, got)
    where = Path(file).name + (f", line {number}" if number else "")
    do = "set NUMBA_DISABLE_JIT=1 to run them as plain Python while you look for it"
    if any(sign in text for sign in _MAKES_ARRAYS):
        got = "one that makes an array, a list or a dictionary, or calls what does"
        do = "write a loop, keep scratch space in the state, or call a helper declared with @kernel"
    return InputError(f"kernels in {where} that Numba can compile", got, do)


def _first_use(file: str, reason: str) -> int | None:
    """Return the line that first uses a name which is not defined: there Numba names no line."""
    name = re.search(r"name '(\w+)' is not defined", reason)
    if name is None or not Path(file).is_file():
        return None
    nodes = ast.walk(ast.parse(Path(file).read_text()))
    return min((node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == name[1]), default=None)


@functools.cache
def compiled(entry: Callable[..., Any], *modules: str) -> Callable[..., Any]:
    """Compile `entry` for the policies and worlds of these modules, cached on disk under a hash of their sources."""
    function = numba.njit(nogil=True, pipeline_class=EntryCompiler, **_SEMANTICS, **_BORROWED)(entry)
    if "__main__" in modules:  # a script or a notebook: its types are new in every process, so a cache would only grow
        return function
    function._cache = KernelCache(entry, functools.partial(closure_key, entry.__module__, *modules))
    return function


def kept_in(function: Callable[..., Any]) -> Path | None:
    """Return the directory that keeps what a function of `compiled` ran last; None: no directory does."""
    cache: KernelCache | None = getattr(function, "_cache", None)
    return cache.cache_path if isinstance(cache, KernelCache) else None
