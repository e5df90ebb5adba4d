"""Old spellings: they go on working for a version, and each says what to write instead.

`docs/versions.md` says for how long, `CHANGELOG.md` holds the table of old and new, and `tests/test_deprecation.py`
uses each of them once.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

DROPPED_IN = "0.3"  # what 0.1 said otherwise

_Callable = TypeVar("_Callable", bound=Callable[..., Any])  # a function, or a class: type checkers see what it was


def warn(old: str, new: str) -> None:
    """Say that a spelling is old, at the line outside the package that uses it."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("rankone", "importlib"):
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        f"{old} is deprecated: use {new} ({DROPPED_IN} drops the old way)", DeprecationWarning,
        frame.f_code.co_filename, frame.f_lineno,
        module=names.get("__name__", ""), registry=names.setdefault("__warningregistry__", {}),
    )  # fmt: skip


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that answers old names by new ones, given as ``"module.name"``."""

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        warn(f"{module}.{name}", names[name])
        home, _, new = names[name].rpartition(".")
        return getattr(importlib.import_module(home), new)

    return __getattr__


class OldAttribute:
    """An attribute under its old name: it can be read, called and set, and says what it is called now.

    >>> class Model:
    ...     def __init__(self): self.curves_ = [1.0]
    ...     curves = OldAttribute("curves_")
    """

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = name

    def __get__(self, thing: Any, owner: type) -> Any:
        if thing is None:
            return self
        self._warn(owner)
        return getattr(thing, self._new)

    def __set__(self, thing: Any, value: Any) -> None:
        self._warn(type(thing))
        setattr(thing, self._new, value)

    def _warn(self, owner: type) -> None:
        warn(f"{owner.__name__}.{self._old}", self._new)


def old_arguments(**new_of: str) -> Callable[[_Callable], _Callable]:
    """Let a function go on taking arguments by their old names: ``@old_arguments(reward="clicked")``."""

    def decorate(function: _Callable) -> _Callable:
        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not new_of.keys().isdisjoint(keywords):  # hardly ever: some of these functions are called all day
                rename(keywords)
            return function(*args, **keywords)

        def rename(keywords: dict[str, Any]) -> None:
            for old in new_of.keys() & keywords.keys():
                new = new_of[old]
                if new in keywords:
                    raise TypeError(f"{_name(function)}() got both {new} and {old}, its old name")
                warn(f"{old}= in {_name(function)}()", f"{new}=")
                keywords[new] = keywords.pop(old)

        return cast(_Callable, call)

    return decorate


def old_positions(
    *names: str, check: Callable[[Sequence[Any]], None] = lambda given: None
) -> Callable[[_Callable], _Callable]:
    """Let a function go on taking arguments by position, in this order, that are now given by name only.

    For a class it is about its constructor. Without names: every argument that is given by name only, in the order of
    the signature. `check` may refuse what was given by position before anything is said about it.
    """

    def decorate(function: _Callable) -> _Callable:
        if isinstance(function, type):
            function.__init__ = decorate(function.__init__)  # type: ignore[misc]
            return function
        kinds = inspect.signature(function).parameters
        order = names or tuple(name for name, found in kinds.items() if found.kind is found.KEYWORD_ONLY)
        first = sum(found.kind is found.POSITIONAL_OR_KEYWORD for found in kinds.values())

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            more = dict(zip(order, args[first:], strict=False))
            if not more or len(args) > first + len(order) or more.keys() & keywords.keys():
                return function(*args, **keywords)  # all is well, or Python says what is not
            check(args[first:])
            named = ", ".join(f"{name}=" for name in more)
            warn(f"{named} by position in {_name(function)}()", f"{named} by name" if len(more) == 1 else "their names")
            return function(*args[:first], **more, **keywords)

        return cast(_Callable, call)

    return decorate


def old_order(*names: str, when: Callable[..., bool]) -> Callable[[_Callable], _Callable]:
    """Let a function go on taking its first arguments in the order of `names`, told by ``when(*arguments)``."""

    def decorate(function: _Callable) -> _Callable:
        now = ", ".join(list(inspect.signature(function).parameters)[: len(names)])

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not args or not when(*args):
                return function(*args, **keywords)
            warn(f"{_name(function)}({', '.join(names)})", f"{_name(function)}({now})")
            return function(**dict(zip(names, args, strict=False)), **keywords)

        return cast(_Callable, call)

    return decorate


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.removesuffix(".__init__")
