"""Kinds by name (policies, log formats, click models): defining the class in a file of its package registers it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from rankone.errors import InputError
from rankone.specs import did_you_mean

Kind = TypeVar("Kind")


@functools.cache
def import_files(package: str) -> None:
    """Import every file of a package and of the rooms in it, once, so that what they define is registered."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)


class Registry(Generic[Kind]):
    """Classes by their `name`; the files of `package` are imported when the first name is looked up.

    Args:
        one: what one kind is called, ``"policy"``.
        several: what several are called, ``"policies"``.
        package: whose files define them.
    """

    def __init__(self, one: str, several: str, package: str) -> None:
        self._one, self._several, self._package = one, several, package
        self._kinds: dict[str, type[Kind]] = {}

    def add(self, kind: type[Any]) -> None:
        """Register a class; a name that another class has is refused."""
        other = self._kinds.get(kind.name)
        if other is not None and (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            raise InputError(f"a new {self._one} name", kind.name, f"choose another: {other.__qualname__} has it")
        self._kinds[kind.name] = kind

    def known(self) -> Mapping[str, type[Kind]]:
        """Every kind by name."""
        import_files(self._package)
        return MappingProxyType(self._kinds)

    def get(self, name: str) -> type[Kind]:
        """Return the kind of that name, or say which names there are."""
        known = self.known()
        if name not in known:
            do = did_you_mean(name, known, "choose one of them")
            raise InputError(f"one of the {self._several} {', '.join(sorted(known))}", name, do)
        return known[name]
