"""Numba's compiler, with less to do: part of a first compile is work whose result nobody uses.

* Numba makes machine code of every function. Of kernels that only compiled code calls it would never be run: callers
  take in the intermediate code, and the machine code of the outermost function holds all of it.
* Compiling calls deep into Python, in frames of many sizes. CPython keeps frames in chunks of 16 KiB, and gives
  a chunk back as soon as its last frame returns: a loop that happens to run at the edge of one asks the operating
  system for memory at every call. A frame that is said to be large gets a chunk in which all others have room, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_FRAME = 70_000  # words, for which CPython sets up a chunk of a MiB: the other half of it is for the frames below


class _NoMachineCode:
    """The code generator of a kernel, as it is used once the kernel is compiled."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Put the environment into no machine code."""


class _LinkedOnly(JITCodeLibrary):
    """The code of a kernel, to be taken in by its callers."""

    @property
    def codegen(self) -> Any:
        return _NoMachineCode(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._verify_declare_only_symbols()  # type: ignore[no-untyped-call]
        self._finalized = True


class KernelCompiler(Compiler):
    """Compiles what only compiled code calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function up to what its callers take in."""
        self.state.library = _LinkedOnly(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


class EntryCompiler(Compiler):
    """Compiles what Python calls, and all kernels behind it."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function to machine code."""
        return _with_room(super().compile_extra, func)


def _with_room(do: Callable[[Any], Any], what: Any) -> Any:
    return do(what)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_FRAME)
