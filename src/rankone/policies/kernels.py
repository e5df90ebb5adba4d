"""The kernels every policy answers to, dispatched on the type of its state.

`choose`, `update`, `void` and `settled` are written once per policy as plain functions of its state (a NamedTuple of
arrays) and registered here. Compiled code that calls `choose(state, rng)` gets the implementation of that state's
class inlined, which is what lets one compiled loop play every policy and still be cached on disk.

::

    choose(state, rng) -> (row, col, tag)       pick a pair; the tag files its outcome, however late it comes
    update(state, row, col, tag, reward)        learn an outcome; in any order
    void(state, row, col, tag)                  the decision will never have an outcome (default: nothing happens)
    settled(state) -> bool                      True when the choice can never change again (default: False)

A negative tag marks a filler: a decision whose outcome the policy does not learn from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import types
from numba.extending import overload

from rankone.numerics.compiled import INNER

FILLER = -1

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

        options: Any = INNER
        overload(stub, strict=False, jit_options=options)(typed)
        return stub

    return declare


def _nothing(state: Any, row: int, col: int, tag: int) -> None:
    pass


def _never(state: Any) -> bool:
    return False


chooses = Dispatched("choose")
updates = Dispatched("update")
voids = Dispatched("void", _nothing)
settleds = Dispatched("settled", _never)


@overloaded(chooses)
def choose(state: Any, rng: Any) -> tuple[int, int, int]:
    """Pick a pair. Callable from compiled code and, slowly, from Python."""
    return chooses.of(type(state))(state, rng)


@overloaded(updates)
def update(state: Any, row: int, col: int, tag: int, reward: int) -> None:
    """Learn the outcome of a decision."""
    updates.of(type(state))(state, row, col, tag, reward)


@overloaded(voids)
def void(state: Any, row: int, col: int, tag: int) -> None:
    """Note that a decision will never have an outcome."""
    voids.of(type(state))(state, row, col, tag)


@overloaded(settleds)
def settled(state: Any) -> bool:
    """Tell whether the choice can never change again."""
    return settleds.of(type(state))(state)
