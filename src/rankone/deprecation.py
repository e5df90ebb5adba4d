"""Old spellings: they go on working for a version, and each says what to write instead.

`docs/versions.md` says for how long, `CHANGELOG.md` holds the table of old and new, and `tests/test_deprecation.py`
uses each of them once.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def warn(old: str, new: str) -> None:
    """Say that a spelling is old, at the line outside the package that uses it."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("rankone", "importlib"):
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        f"{old} is deprecated: use {new}", DeprecationWarning, frame.f_code.co_filename, frame.f_lineno,
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
