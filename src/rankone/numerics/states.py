"""States declared with the shapes of their arrays, so that code says only what is not zero at the start."""

import functools
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

State = TypeVar("State")


def start_state(kind: type[State], **given: Any) -> State:
    """Return a state of zeros, but for the values given by the names of its fields.

    Each field declares its shape: sizes that are numbers, single letters or sums of them, and what the letters are is
    given, too.

    >>> from typing import Annotated, NamedTuple
    >>> from rankone.numerics.arrays import Floats, Ints
    >>> class Counts(NamedTuple):
    ...     clicks: Annotated[Ints, "L, K"]
    ...     share: Annotated[Floats, "1"]
    >>> start_state(Counts, L=1, K=2, share=0.5)
    Counts(clicks=array([[0, 0]]), share=array([0.5]))
    """
    make: Any = kind
    return make(*(_filled(*declared, given, name) for name, declared in _declared(make).items()))


def resized(state: Any, axis: str, size: int) -> Any:
    """Return a copy of a state in which one of the letters is larger; what is new is zero.

    >>> from typing import Annotated, NamedTuple
    >>> from rankone.numerics.arrays import Ints
    >>> class Counts(NamedTuple):
    ...     clicks: Annotated[Ints, "L, K"]
    >>> resized(start_state(Counts, L=1, K=2, clicks=7), "L", 2)
    Counts(clicks=array([[7, 7],
           [0, 0]]))
    """
    result = state
    for name, (_, shape) in _declared(state.__class__).items():
        old, sizes = getattr(result, name), shape.split(", ")
        more = [(0, size - own if letter == axis else 0) for letter, own in zip(sizes, old.shape, strict=True)]
        result = result._replace(**{name: np.pad(old, more)})
    return result


def fields_of(states: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of states by the state's name and their own: what `state_of` reads.

    >>> from typing import NamedTuple
    >>> class Counts(NamedTuple):
    ...     clicks: int
    >>> fields_of({"row": Counts(3)}), state_of(Counts, {"row_clicks": 3}, "row")
    ({'row_clicks': 3}, Counts(clicks=3))
    """
    return {f"{what}_{name}": array for what, state in states.items() for name, array in state._asdict().items()}


def state_of(kind: type[State], arrays: Mapping[str, Any], what: str) -> State:
    """Return a state out of what `fields_of` returned, by its name."""
    make: Any = kind
    return make(*(arrays[f"{what}_{name}"] for name in make._fields))


def _filled(dtype: Any, shape: str, given: dict[str, Any], name: str) -> Any:
    sizes = [[given[part] if part in given else int(part) for part in size.split("+")] for size in shape.split(", ")]
    result = np.zeros([sum(parts) for parts in sizes], dtype)
    result[...] = given.get(name, 0)
    return result


@functools.cache
def _declared(kind: Any) -> dict[str, tuple[Any, str]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    dtypes = {name: typing.get_args(typing.get_args(hints[name].__origin__)[1])[0] for name in kind._fields}
    return {name: (dtype, hints[name].__metadata__[0]) for name, dtype in dtypes.items()}
