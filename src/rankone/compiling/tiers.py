"""Nobody waits for the compiler: what is not compiled yet runs as plain Python, and another process compiles it.

Kernels are plain functions that give the same bits compiled or not, so a live experiment can change from one to the
other between two decisions. A call of `tiered` runs

* compiled code that this process has, or that is on disk;
* else, where it is long (`size` events or more than `LONG`), code that it compiles first, and says so;
* else plain Python. A process in the background then compiles it (`rankone.compiling.background`), and a later call
  finds it on disk.

RANKONE_COMPILE=first compiles before anything runs, RANKONE_COMPILE=never compiles nothing. Code of a user's own module
is compiled first, too: another process may not find that module.
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
_SAID_AFTER = 1.0  # seconds of compiling
_CHOICES = ("auto", "first", "never")


def _chosen() -> str:
    """Return what RANKONE_COMPILE says."""
    choice = os.environ.get("RANKONE_COMPILE", "") or _CHOICES[0]
    if choice not in _CHOICES:
        raise InputError(f"RANKONE_COMPILE as {', '.join(_CHOICES)}", choice, "leave it unset for auto")
    return choice


class _Missing(Exception):
    """This process has no compiled code for some types, and is not to wait for it."""


class _Waiting(threading.local):
    """Whether this thread would rather run plain Python than wait for the compiler."""

    refused = False
    first = False  # compile before anything runs, whatever RANKONE_COMPILE says


_waiting = _Waiting()


class _Entry(CPUDispatcher):
    """A compiled function that can be asked to compile nothing."""

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        """Called by Numba where it has no code for the types of some arguments."""
        if _waiting.refused:
            raise _Missing(tuple(map(self.typeof_pyval, arguments)))
        return super()._compile_for_args(*arguments, **named)  # type: ignore[misc]


class Tiered:
    """An entry point of compiled code that runs as plain Python as long as it is not compiled.

    Args:
        entry: the function.
        modules: of the policies and worlds that it is called with.
    """

    def __init__(self, entry: Callable[..., Any], *modules: str) -> None:
        self._entry, self._modules = entry, modules
        self._compiled: Any = compiled(entry, *modules)
        own = all(module.startswith("rankone.") for module in (entry.__module__, *modules))
        kept = isinstance(getattr(self._compiled, "_cache", None), KernelCache)  # not with NUMBA_DISABLE_JIT=1
        self._choice = _chosen() if own and kept else "first"
        self._looks: dict[Any, tuple[float, float]] = {}  # by types without code: when to look next, the last pause
        if self._choice != "first":
            self._compiled.__class__ = _Entry

    @property
    def waits(self) -> bool:
        """Whether callers wait for the compiler."""
        return self._choice == "first"

    def __call__(self, *arguments: Any, size: int = 1) -> Any:
        """Run it; `size` is about how many events that are."""
        if self.waits or _waiting.first:
            return self._compiled(*arguments)
        _waiting.refused = True
        try:
            return self._compiled(*arguments)
        except _Missing as missing:
            (types,) = missing.args
        finally:
            _waiting.refused = False
        if self._choice == "auto" and self._on_disk(types, ask=size <= LONG):
            return self._compiled(*arguments)
        if self._choice == "never" or size <= LONG:
            return self._run_plain(arguments)
        with _said(f"compiling {self._entry.__name__} ..."):
            return self._compiled(*arguments)

    def _on_disk(self, types: Any, ask: bool) -> bool:
        """Look, now and then, whether the code is on disk; the first time that it is not, `ask` for it."""
        now = time.monotonic()
        due, pause = self._looks.get(types, (now, 0.0))
        if now < due:
            return False
        if self._compiled._cache.has(types, self._compiled.targetctx):
            return True
        if ask and pause == 0.0:
            _background.compile(self._entry, self._modules, types)
        pause = min(_LAST_LOOK, max(2.0 * pause, _FIRST_LOOK))
        self._looks[types] = now + pause, pause
        return False

    def _run_plain(self, arguments: tuple[Any, ...]) -> Any:
        before = _Before(arguments)
        try:
            with np.errstate(all="ignore"):
                return self._entry(*arguments)
        except Exception:  # Python is stricter than compiled code, which divides by zero as NumPy does
            if self._choice == "never":
                raise
            before.restore()
        return self._compiled(*arguments)


@contextlib.contextmanager
def compiling_first() -> Iterator[None]:
    """Compile whatever is run meanwhile: to have it compiled is what it is run for."""
    before, _waiting.first = _waiting.first, True
    try:
        yield
    finally:
        _waiting.first = before


class _Before:
    """What arguments were, to have them back."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        parts = [part for each in arguments for part in (each if isinstance(each, tuple) else (each,))]
        self._arrays = [(array, array.copy()) for array in parts if isinstance(array, np.ndarray)]
        self._rngs = [(rng, rng.bit_generator.state) for rng in parts if isinstance(rng, np.random.Generator)]

    def restore(self) -> None:
        """Put everything back."""
        for array, values in self._arrays:
            array[...] = values
        for rng, state in self._rngs:
            rng.bit_generator.state = state


@functools.cache
def tiered(entry: Callable[..., Any], *modules: str) -> Tiered:
    """Return `entry`, for the policies and worlds of these modules, as compiled as it is by now."""
    return Tiered(entry, *modules)


@contextlib.contextmanager
def _said(sentence: str) -> Iterator[None]:
    """Say what takes long, once it does."""
    late = threading.Timer(_SAID_AFTER, sys.stderr.write, [f"rankone: {sentence}\n"])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


class _Background:
    """A process that compiles what it is sent, one after the other, and ends when it has nothing more to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def compile(self, entry: Callable[..., Any], modules: tuple[str, ...], types: Any) -> None:
        """Have a function compiled for these types; nobody waits for it, or hears of it."""
        with self._lock, contextlib.suppress(OSError):
            if not can_keep():
                return
            request = pickle.dumps((entry, modules, types))
            for _ in range(2):  # the process may end just now: then another one gets the request
                if self._process is None or self._process.poll() is not None:
                    self._process = self._started()
                with contextlib.suppress(BrokenPipeError):
                    assert self._process.stdin is not None
                    self._process.stdin.write(len(request).to_bytes(8, "big") + request)
                    self._process.stdin.flush()
                    return
                self._process = None

    @staticmethod
    def _started() -> subprocess.Popen[bytes]:
        """Start the process in a session of its own: Ctrl-C, or the end of this one, does not end it."""
        return subprocess.Popen(  # our own program
            [sys.executable, "-m", "rankone.compiling.background"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **SAFE_PATH},
        )

    def forget(self) -> None:
        """In a process that was forked: the other one is the parent's."""
        self.__init__()  # type: ignore[misc]


_background = _Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.forget)
