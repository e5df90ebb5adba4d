"""Live experiments: the journal is the truth, and everything else is folded from it.

Names are imported when they are first used: a client needs the messages alone, and neither Numba nor a database.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankone.live.database import Database
    from rankone.live.experiment import Experiment
    from rankone.live.messages import Ask, Decision, Outcome, Tell, Void
    from rankone.live.ranking import Ranking
    from rankone.live.settings import Control, Outcomes, Prior, Stopping, Watch

_GROUPS = ("Control", "Prior", "Stopping", "Outcomes", "Watch")
_HOMES = {"Database": "database", "Experiment": "experiment", "Ranking": "ranking"} | dict.fromkeys(_GROUPS, "settings")

__all__ = [
    "Ask",
    "Control",
    "Database",
    "Decision",
    "Experiment",
    "Outcome",
    "Outcomes",
    "Prior",
    "Ranking",
    "Stopping",
    "Tell",
    "Void",
    "Watch",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rankone.live' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"rankone.live.{_HOMES.get(name, 'messages')}"), name)
    globals()[name] = value
    return value
