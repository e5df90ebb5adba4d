"""Things by name, registered by being defined: policies, families, log formats, click models, databases, commands.

There are two ways to register anything: a *kernel* is registered for a class of state or world
(``@decide.register(MyState)``, see `rankone.compiling.dispatch`), and everything else goes by a name and is kept in a
`Registry`. Nobody calls `add` but the base class or the decorator of what is registered: to write the file is enough.
"""

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from rankone.errors import InputError
from rankone.specs import did_you_mean

Thing = TypeVar("Thing")


@functools.cache
def import_files(package: str) -> None:
    """Import every file of a package and of the rooms in it, once, so that what they define is registered.

    Files whose names begin with an underscore define nothing that others choose, and may be heavy.
    """
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)


class Registry(Generic[Thing]):
    """Things by name; the files of `package` are imported when the first name is looked up.

    Args:
        one: what one of them is called, ``"policy"``.
        several: what several are called, ``"policies"``.
        package: whose files define them.
    """

    def __init__(self, one: str, several: str, package: str) -> None:
        self._one, self._several, self._package = one, several, package
        self._things: dict[str, Thing] = {}
        self._origins: dict[str, Any] = {}

    def add(self, name: str, thing: Thing, origin: Any = None) -> None:
        """Register a thing; a name that another has is refused.

        `origin` is the class or function that it was made of, unless it is one itself: defined again, in a notebook
        say, it takes the place of what it was before.
        """
        origin, other = thing if origin is None else origin, self._origins.get(name)
        if other is not None and (other.__module__, other.__qualname__) != (origin.__module__, origin.__qualname__):
            raise InputError(f"a new {self._one} name", name, f"choose another: {other.__qualname__} has it")
        self._things[name], self._origins[name] = thing, origin

    def known(self) -> Mapping[str, Thing]:
        """Everything by name."""
        import_files(self._package)
        return MappingProxyType(self._things)

    def get(self, name: str) -> Thing:
        """Return what has that name, or say which names there are."""
        known = self.known()
        if name not in known:
            do = did_you_mean(name, known, f"known {self._several}: {', '.join(sorted(known))}")
            raise InputError(f"No such {self._one}:", name, do)
        return known[name]
