"""Live experiments: the journal is the truth, and everything else is folded from it.

Names are imported when they are first used: a client needs the messages alone, and neither Numba nor a database.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankone.serving.database import Database
    from rankone.serving.experiment import Experiment
    from rankone.serving.messages import Ask, Decision, Outcome, Tell, Void

_HOMES = {"Database": "database", "Experiment": "experiment"}

__all__ = ["Ask", "Database", "Decision", "Experiment", "Outcome", "Tell", "Void"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rankone.serving' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"rankone.serving.{_HOMES.get(name, 'messages')}"), name)
    globals()[name] = value
    return value
