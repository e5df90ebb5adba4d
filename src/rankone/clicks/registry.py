"""Named kinds (log formats, click models): defining the class in a file of the package is all the registration."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from rankone.errors import InputError

Kind = TypeVar("Kind")


class Registry(Generic[Kind]):
    """Classes by their `name`; the files of `package` are imported when the first name is looked up."""

    def __init__(self, what: str, package: str) -> None:
        self.what, self.package = what, package
        self._kinds: dict[str, type[Kind]] = {}

    def add(self, kind: type[Any]) -> None:
        """Register a class; a name that another class has is refused."""
        other = self._kinds.get(kind.name)
        if other is not None and (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            raise InputError(f"a new {self.what} name", kind.name, f"choose another: {other.__qualname__} has it")
        self._kinds[kind.name] = kind

    def known(self) -> Mapping[str, type[Kind]]:
        """Every kind by name."""
        for module in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        return MappingProxyType(self._kinds)

    def get(self, name: str) -> type[Kind]:
        """Return the kind of that name, or say which names there are."""
        known = self.known()
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            do = f"did you mean {near[0]}?" if near else "choose one of them"
            raise InputError(f"one of the {self.what}s {', '.join(sorted(known))}", name, do)
        return known[name]
