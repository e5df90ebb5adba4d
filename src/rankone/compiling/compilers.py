"""Numba's compiler, with less to do: part of a first compile is work whose result nobody uses. It halves the time.

* Kernels that only compiled code calls get no machine code: callers take in their intermediate code.
* Only the outermost function is optimised, with everything in it, not every kernel once for each of its callers.
* CPython gives a chunk of 16 KiB of frames back as soon as its last frame returns, so a loop at its edge asks for
  memory at every call. A frame that is said to be large gets a chunk in which all others have room.
* No garbage is collected meanwhile; options of Numba are compared and hashed in one step, not one by one.
"""

import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.targetconfig import TargetConfig

from rankone.compiling.cache import end_turn

# What a function may cost and be inlined all the same. LLVM's own limit is 225: kernels that wait to be optimised with
# the loop look cheaper than they become, and those of the rare cases would fill it.
_INLINED = 80
_SAID_AFTER = 1.0  # seconds
_unsaid = ["rankone: compiling a policy with its world; kept on disk, so this takes long only once ...\n"]
_FRAME = 70_000  # words, for which CPython sets up a chunk of a MiB: the other half of it is for the frames below
# Calls what Numba passes first to the machine code of a function, which cannot be called: a `TypeError`, not a crash.
REFUSE = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value or 0


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


def _values(options: Any) -> dict[str, Any]:
    """Return the value of every option, as Numba's own function does."""
    kind: Any = type(options)
    return {**_defaults(kind), **options._values}


def _hash(options: Any) -> int:
    """Return a hash of the options' names, as Numba's own function does: equal options are of one class."""
    return hash(type(options))


TargetConfig.values, TargetConfig.__hash__ = _values, _hash  # type: ignore[method-assign]


class _NoMachineCode:
    """The code generator of a kernel, as it is used once the kernel is compiled."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Put the environment into no machine code: the outermost function puts it into its own."""


class _LinkedOnly(JITCodeLibrary):
    """The code of a kernel, to be taken in by its callers: as it is, and without that of the kernels it calls."""

    @property
    def codegen(self) -> Any:
        return _NoMachineCode(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """Return what Python runs that calls a kernel all the same: there is no machine code, and this raises."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return REFUSE

    def finalize(self) -> None:
        """Leave all work on the code to the outermost function."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "weak_odr"  # taken in whether or not somebody is known to call it
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with all kernels behind it, for a caller that is compiled by Numba alone."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        if self._shared_module is None:
            whole = self._final_module.clone()
            for other in _link_in(whole, self):
                whole.link_in(other._get_module_for_linking(), preserve=True)
            self._shared_module = whole
        return self._shared_module


def _behind(library: Any) -> Iterator[Any]:
    """Yield every library that the code of one needs, once, as far as kernels go."""
    seen, waiting = {library}, [library]
    while waiting:
        for other in waiting.pop()._linking_libraries:
            if other not in seen:
                seen.add(other)
                yield other
                if isinstance(other, _LinkedOnly):
                    waiting.append(other)


def _link_in(module: Any, library: Any) -> list[Any]:
    """Link the kernels behind a library into a module; return the other libraries that are to be linked."""
    others = []
    for other in _behind(library):
        if isinstance(other, _LinkedOnly):
            if hasattr(library, "_reload_init"):  # Numba before 0.62 has none
                library._reload_init.update(other._reload_init)
            module.link_in(other._final_module, preserve=True)
        else:
            others.append(other)
    for function in module.functions:
        if function.linkage.name == "weak_odr":
            function.linkage = "linkonce_odr"  # dropped where all calls were inlined
    return others


class _Whole(JITCodeLibrary):
    """The code of a function that Python calls, and of all kernels behind it: optimised once, together."""

    def finalize(self) -> None:
        """Make machine code."""
        self._linking_libraries = _link_in(self._final_module, self)
        super().finalize()  # type: ignore[no-untyped-call]

    def get_pointer_to_function(self, name: str) -> int:
        """Return where the machine code is; kernels in it know what they print, or raise, from their environments."""
        result: int = super().get_pointer_to_function(name)  # type: ignore[no-untyped-call]
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)  # type: ignore[no-untyped-call]
            if environment is not None:
                codegen.set_env(variable.name, environment)
        return result

    def _optimize_final_module(self) -> None:
        """Optimise as Numba does, but for what is inlined: kernels of the rare cases stay out of the loop."""
        codegen: Any = self._codegen
        if hasattr(codegen, "_pass_builder"):  # Numba before 0.62 has none
            codegen._pass_builder = functools.partial(_pass_builder, codegen._tm)
        try:
            super()._optimize_final_module()  # type: ignore[no-untyped-call]
        finally:
            vars(codegen).pop("_pass_builder", None)


def _pass_builder(machine: Any, opt: Any = None, loop_vectorize: Any = None, slp_vectorize: Any = None) -> Any:
    """Return Numba's pass builder with another limit of what is inlined."""
    tuning, usual = llvm.create_pipeline_tuning_options(), vars(config)
    tuning.speed_level = usual["OPT"] if opt is None else opt
    tuning.loop_vectorization = usual["LOOP_VECTORIZE"] if loop_vectorize is None else loop_vectorize
    tuning.slp_vectorization = usual["SLP_VECTORIZE"] if slp_vectorize is None else slp_vectorize
    tuning.inlining_threshold = _INLINED
    return llvm.create_pass_builder(machine, tuning)


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
        self.state.library = _Whole(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()  # so that it can be kept on disk
        try:
            with _no_collection(), _said_once():
                return _with_room(super().compile_extra, func)
        except BaseException:
            end_turn()  # there will be nothing to keep
            raise


@contextlib.contextmanager
def _said_once() -> Iterator[None]:
    if not _unsaid:
        yield
        return
    late = threading.Timer(_SAID_AFTER, _say)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def _say() -> None:
    if _unsaid and sys.stderr is not None:
        sys.stderr.write("\r" * sys.stderr.isatty() + _unsaid.pop())  # a bar may stand there


def say_nothing() -> None:
    """Let this process not say that it compiles: it works for another one, which does."""
    _unsaid.clear()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _with_room(do: Callable[[Any], Any], what: Any) -> Any:
    return do(what)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_FRAME)

if hasattr(os, "register_at_fork"):
    # A process that is forked while another thread compiles could never compile: nobody would give it Numba's lock.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
