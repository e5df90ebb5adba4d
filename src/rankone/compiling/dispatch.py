"""Kernels dispatched on the type of a state, so that one compiled function serves every kind of state.

Passing kernels as arguments, or closing over them, never hits Numba's cache in a new process; the type of an argument
does. So a kernel is declared once, each class of state (a NamedTuple of arrays) registers its implementation
(``@settled.register(BestState)``), and compiled code that calls the kernel gets that of its state's class inlined.
"""

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from numba.core import types
from numba.extending import overload

from rankone.compiling.compiled import STEP
from rankone.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Dispatched(Generic[Parameters, Result]):
    """A kernel with an implementation for each class of state; subclasses inherit, as methods do.

    An implementation is kept on the class itself, so that it goes wherever the class goes, to a worker process, too. A
    class without one runs what `default` makes of it; None: it must have one.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self, declaration: Callable[Parameters, Result], default: Callable[[type], Callable[Parameters, Result] | None]
    ) -> None:
        functools.update_wrapper(self, declaration)
        self._default = default
        self._attribute = f"_kernel_{self.__name__}"

        def typed(state, *others):  # type: ignore[no-untyped-def]
            return self.of(state.instance_class) if isinstance(state, (types.NamedTuple, types.NamedUniTuple)) else None

        options: Any = STEP
        overload(self, strict=False, jit_options=options)(typed)

    def register(self, state_class: type) -> Callable[[Function], Function]:
        """Decorator: the function implements this kernel for `state_class` and its subclasses."""

        def keep(function: Function) -> Function:
            _tell_apart(state_class)
            setattr(state_class, self._attribute, staticmethod(function))
            return function

        return keep

    def has(self, state_class: type) -> bool:
        """Tell whether a class of state has an implementation of its own, or inherits one."""
        return hasattr(state_class, self._attribute)

    def of(self, state_class: type) -> Callable[Parameters, Result]:
        """Return the plain Python implementation for a class of state."""
        own: Callable[Parameters, Result] | None = getattr(state_class, self._attribute, None)
        result = self._default(state_class) if own is None else own
        if result is None:
            kind, kernel = state_class.__name__, self.__name__
            raise InputError(
                f"a kernel '{kernel}' for the state {kind}", "none", f"register one: @{kernel}.register({kind})"
            )
        return result

    def __call__(self, *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        """Run the implementation for the state, the first argument, in plain Python: slowly."""
        return self.of(type(arguments[0]))(*arguments, **named)

    def __reduce__(self) -> str:
        """Pickle by name: a copy would be unknown to the compiler."""
        return self.__qualname__


_classes: dict[tuple[str, str], list[type]] = {}  # of states, by module and name, as they were defined


def _tell_apart(state_class: type) -> None:
    """Give a class of state another short name if one before had it: a cell that was run, or a module loaded, again.

    Numba looks a named tuple up by the short name of its class and by its fields, and would run the old class's code.
    """
    alike = _classes.setdefault((state_class.__module__, state_class.__qualname__), [])
    if state_class not in alike:
        alike.append(state_class)
        if len(alike) > 1:
            state_class.__name__ = f"{state_class.__name__}_{len(alike)}"


def extends(state_class: Any, more: Any = None) -> Callable[[type], Any]:
    """Decorator: a class of state has the fields of another one, of `more` and its own, and the first's kernels."""

    def extended(own: type) -> Any:
        names = (*state_class._fields, *getattr(more, "_fields", ()), *getattr(own, "__annotations__", ()))
        fields = namedtuple(own.__name__, dict.fromkeys(names))  # type: ignore[misc]
        about = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
        return type(own.__name__, (own, fields, state_class), about)

    return extended


def dispatched(declaration: Callable[Parameters, Result]) -> Dispatched[Parameters, Result]:
    """Declare a kernel that every class of state has to register; the function's own body never runs."""
    return Dispatched(declaration, lambda state_class: None)


def optional(declaration: Callable[Parameters, Result]) -> Dispatched[Parameters, Result]:
    """Declare a kernel that a class of state may register; for the others, the function itself is run."""
    return Dispatched(declaration, lambda state_class: declaration)


def derived(
    default: Callable[[type], Callable[Parameters, Result] | None],
) -> Callable[[Callable[Parameters, Result]], Dispatched[Parameters, Result]]:
    """Declare a kernel whose default depends on what else a class of state has registered; None: there is none."""
    return lambda declaration: Dispatched(declaration, default)
