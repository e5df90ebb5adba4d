"""Kernels dispatched on the type of a state, so that one compiled function serves every kind of state.

Passing kernels as arguments, or closing over them, never hits Numba's cache in a new process; the type of an argument
does. So a kernel is declared once as a stub, each class of state (a NamedTuple of arrays) registers its implementation,
and compiled code that calls the stub gets the implementation of its state's class inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import types
from numba.extending import overload

from rankone.numerics.compiled import STEP

Function = TypeVar("Function", bound=Callable[..., Any])


class Dispatched:
    """One kernel's implementations by class of state; subclasses inherit, as methods do."""

    def __init__(self, name: str, default: Callable[..., Any] | None = None) -> None:
        self.name = name
        self._default = default
        self._of_class: dict[type, Callable[..., Any]] = {}

    def register(self, state_class: type) -> Callable[[Function], Function]:
        """Decorator: the function implements this kernel for `state_class` and its subclasses."""

        def keep(function: Function) -> Function:
            self._of_class[state_class] = function
            return function

        return keep

    def of(self, state_class: type) -> Callable[..., Any]:
        """Return the plain Python implementation for a class of state."""
        for ancestor in state_class.__mro__:
            if ancestor in self._of_class:
                return self._of_class[ancestor]
        if self._default is None:
            raise TypeError(
                f"{state_class.__name__} has no kernel '{self.name}': register one with @{self.name}s.register(...)"
            )
        return self._default


def overloaded(kernel: Dispatched) -> Callable[[Function], Function]:
    """Decorator: compiled code that calls this function gets the kernel's implementation for the state's class."""

    def declare(stub: Function) -> Function:
        def typed(state, *others):  # type: ignore[no-untyped-def]
            return (
                kernel.of(state.instance_class) if isinstance(state, (types.NamedTuple, types.NamedUniTuple)) else None
            )

        options: Any = STEP
        overload(stub, strict=False, jit_options=options)(typed)
        return stub

    return declare
