"""Old spellings: they go on working for a version, and each says what to write instead.

`docs/versions.md` says for how long, `CHANGELOG.md` holds the table of old and new, and `tests/test_deprecation.py`
uses each of them once.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def warn(old: str, new: str, above: int = 1) -> None:
    """Say that a spelling is old, at the line of the caller `above` frames above whoever calls this."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=above + 2)


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that answers old names by new ones, given as ``"module.name"``."""

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        warn(f"{module}.{name}", names[name])
        home, _, new = names[name].rpartition(".")
        return getattr(importlib.import_module(home), new)

    return __getattr__
