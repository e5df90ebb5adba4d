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
    """One kernel's implementations by class of state; subclasses inherit, as methods do.

    An implementation is kept on the class itself, so that it goes wherever the class goes: to a worker process, too,
    when a script or a notebook defines the policy.
    """

    def __init__(self, name: str, default: Callable[..., Any] | None = None) -> None:
        self.name = name
        self._default = default
        self._attribute = f"_kernel_{name}"

    def register(self, state_class: type) -> Callable[[Function], Function]:
        """Decorator: the function implements this kernel for `state_class` and its subclasses."""

        def keep(function: Function) -> Function:
            setattr(state_class, self._attribute, staticmethod(function))
            return function

        return keep

    def of(self, state_class: type) -> Callable[..., Any]:
        """Return the plain Python implementation for a class of state."""
        found: Callable[..., Any] | None = getattr(state_class, self._attribute, self._default)
        if found is None:
            raise TypeError(f"{state_class.__name__} has no kernel '{self.name}': register one for it")
        return found


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
