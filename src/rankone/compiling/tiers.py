"""Nobody waits for the compiler: what is not compiled yet runs as plain Python, and another process compiles it.

Kernels give the same bits compiled or not (tested on x86-64), so a live experiment can change from one to the other
between two decisions. A call of `tiered` runs compiled code that this process has, or that is on disk; else, if it is
about more than `LONG` events, code that it compiles first, and says so; else plain Python, while a process in the
background compiles it (`rankone.compiling.background`) for a later call.

RANKONE_COMPILE=first compiles before anything runs; with RANKONE_COMPILE=never live experiments and agents run as plain
Python throughout. Code of a user's own module is compiled first: another process may not find that module.
"""

import contextlib
import functools
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.registry import CPUDispatcher

from rankone.child_processes import SAFE_PATH
from rankone.compiling.cache import KernelCache
from rankone.compiling.compiled import compiled
from rankone.compiling.folders import can_keep
from rankone.errors import InputError

LONG = 2_000  # events: about as long in plain Python as a first compile takes
_FIRST_LOOK, _LAST_LOOK = 0.25, 4.0  # seconds between looks for what is compiled by now: twice as long after each
_TRIES = 3  # requests that the background may lose
_CHOICES = ("auto", "first", "never")


def chosen() -> str:
    """Return what RANKONE_COMPILE says."""
    choice = os.environ.get("RANKONE_COMPILE", "") or _CHOICES[0]
    if choice not in _CHOICES:
        raise InputError(f"RANKONE_COMPILE as {', '.join(_CHOICES)}", choice, "leave it unset for auto")
    return choice


class _Missing(Exception):
    """This process has no compiled code for some types, and is not to wait for it."""


class _Waiting(threading.local):
    """What this thread does about code that is not compiled."""

    refused = False  # it does not wait for the compiler
    first = False  # it compiles before anything runs, whatever RANKONE_COMPILE says
    looking: list[str] | None = None  # it notes what is not on disk, and runs all as plain Python


_waiting = _Waiting()


class _Entry(CPUDispatcher):
    """A compiled function that can be asked to compile nothing."""

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        """Called by Numba where it has no code for the types of some arguments."""
        if _waiting.refused:
            raise _Missing(tuple(map(self.typeof_pyval, arguments)))
        return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]


class Tiered:
    """An entry point, for policies and worlds of these modules, that runs as plain Python until it is compiled."""

    def __init__(self, entry: Callable[..., Any], *modules: str) -> None:
        self._entry, self._modules = entry, modules
        self._compiled: Any = compiled(entry, *modules)
        own = all(module.startswith("rankone.") for module in (entry.__module__, *modules))
        dispatches = isinstance(self._compiled, CPUDispatcher)  # not with NUMBA_DISABLE_JIT=1
        kept = dispatches and isinstance(getattr(self._compiled, "_cache", None), KernelCache)
        self._choice = chosen() if own and kept else "first"
        self._looks: dict[Any, _Look] = {}  # by types without code
        if self._choice != "first":
            self._compiled.__class__ = _Entry

    @property
    def waits(self) -> bool:
        """Whether callers wait for the compiler."""
        return self._choice == "first"

    def __call__(self, *arguments: Any, size: int = 1) -> Any:
        """Run it; `size` is about how many events that are."""
        if _waiting.looking is not None:
            return self._look(arguments, _waiting.looking)
        if self.waits or _waiting.first:
            return self._compiled(*arguments)
        _waiting.refused = True
        try:
            return self._compiled(*arguments)
        except _Missing as missing:
            (types,) = missing.args
        finally:
            _waiting.refused = False
        if self._choice == "auto" and self._is_on_disk(types, size):
            return self._compiled(*arguments)
        if self._choice == "never" or (size <= LONG and self._looks[types].asked <= _TRIES):
            return self._run_plain(arguments)
        return self._compiled(*arguments)  # it is long, or the background has lost the request again and again

    def known(self, *arguments: Any) -> Callable[..., Any] | None:
        """Return the compiled code of arguments that it was just run with, for these very objects: it looks at nothing.

        To look at the types of all arrays of a state takes longer than a step. None: it was not compiled code that ran.
        """
        if _waiting.looking is not None or not isinstance(self._compiled, CPUDispatcher):
            return None
        result: Any = self._compiled.overloads.get(tuple(map(self._compiled.typeof_pyval, arguments)))
        return None if result is None else result.entry_point

    def _is_on_disk(self, types: Any, size: int) -> bool:
        """Look, now and then, whether the code is on disk; as long as it is not, have it compiled."""
        now = time.monotonic()
        look = self._looks.setdefault(types, _Look())
        if now < look.due:
            return False
        if self._compiled._cache.has(types, self._compiled.targetctx):
            return True
        look.pause = min(_LAST_LOOK, max(2.0 * look.pause, _FIRST_LOOK))
        look.due = now + look.pause
        if size <= LONG and look.lost:
            look.asked += 1
            if look.asked <= _TRIES:
                look.process = _background.compile(self._entry, self._modules, types)
        return False

    def _look(self, arguments: tuple[Any, ...], missing: list[str]) -> Any:
        if self._choice == "auto":
            types = tuple(map(self._compiled.typeof_pyval, arguments))
            if not self._compiled._cache.has(types, self._compiled.targetctx):
                missing.append(self._entry.__name__)
        with np.errstate(all="ignore"):
            return self._entry(*arguments)

    def _run_plain(self, arguments: tuple[Any, ...]) -> Any:
        before = _Before(arguments)
        try:
            with np.errstate(all="ignore"):
                return self._entry(*arguments)
        except BaseException as error:  # an interrupt must not leave half a step
            before.restore()
            if self._choice == "never" or not isinstance(error, Exception):
                raise
        # Python is stricter than compiled code, which divides by zero as NumPy does.
        return self._compiled(*arguments)


class _Look:
    due = pause = 0.0  # when to look next, and how long after the last look
    asked = 0  # how often the background was asked to compile it
    process: Any = None  # that was asked last

    @property
    def lost(self) -> bool:
        """Whether nobody compiles it now."""
        if self.asked == 0:
            return True
        return self.process is not None and self.process.poll() is not None


@contextlib.contextmanager
def compiling_first() -> Iterator[None]:
    """Compile whatever is run meanwhile: to have it compiled is what it is run for."""
    before, _waiting.first = _waiting.first, True
    try:
        yield
    finally:
        _waiting.first = before


@contextlib.contextmanager
def looking() -> Iterator[list[str]]:
    """Run everything as plain Python; the list then names what is not on disk."""
    missing: list[str] = []
    _waiting.looking = missing
    try:
        yield missing
    finally:
        _waiting.looking = None


class _Before:
    def __init__(self, arguments: tuple[Any, ...]) -> None:
        parts = list(_parts(arguments))
        arrays = [part for part in parts if isinstance(part, np.ndarray) and part.flags.writeable]
        self._arrays = [(array, array.copy()) for array in arrays]
        self._rngs = [(part, part.bit_generator.state) for part in parts if isinstance(part, np.random.Generator)]

    def restore(self) -> None:
        """Put everything back."""
        for array, values in self._arrays:
            array[...] = values
        for rng, state in self._rngs:
            rng.bit_generator.state = state


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value


@functools.cache
def tiered(entry: Callable[..., Any], *modules: str) -> Tiered:
    """Return an entry point, for the policies and worlds of these modules, that need not be compiled to run."""
    return Tiered(entry, *modules)


class _Background:
    """A process that compiles what it is sent, one after the other, and ends when it has nothing more to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def compile(self, entry: Callable[..., Any], modules: tuple[str, ...], types: Any) -> Any:
        """Have a function compiled for these types; return the process that was asked, or None. It never waits."""
        with self._lock, contextlib.suppress(Exception):
            if not can_keep() or not sys.executable or getattr(sys, "frozen", False):
                return None
            request = pickle.dumps((entry, modules, types))
            if self._process is not None and self._process.poll() is not None:
                self.forget()
            self._process = self._process or self._started()
            message = len(request).to_bytes(8, "big") + request
            assert self._process.stdin is not None
            try:
                if self._process.stdin.write(message) == len(message):
                    return self._process
            except OSError:  # it has just ended
                pass
            self._process.kill()  # stopped, or cut off in the middle of a request
            return self._process
        return None

    @staticmethod
    def _started() -> subprocess.Popen[bytes]:
        """Start the process in a session of its own: Ctrl-C, or the end of this one, does not end it."""
        paths = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")  # it is to find this package
        own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "RANKONE_COMPILE": "first"}
        process = subprocess.Popen(
            [sys.executable, "-m", "rankone.compiling.background"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            env={**os.environ, **SAFE_PATH, **own},
        )
        if process.stdin is not None and sys.platform != "win32":
            os.set_blocking(process.stdin.fileno(), False)
        return process

    def forget(self) -> None:
        """Let go of a process that has ended, or is the parent's."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.returncode = self._process.returncode or 0  # nobody waits for it
        self._process = None

    def forget_after_fork(self) -> None:
        """Begin anew in a process that was forked, perhaps while another thread asked."""
        self._lock = threading.Lock()
        self.forget()


_background = _Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.forget_after_fork)
