"""rankone: find the best pair (row, column) from clicks when a click needs both to be good.

Names are imported when they are first used, so that ``import rankone`` and ``rankone --help`` answer at once.
"""

from __future__ import annotations

import importlib
from typing import Any

from rankone._version import __version__
from rankone.deprecation import old_names
from rankone.old_modules import find_old_modules

_HOMES = {
    "Agent": "rankone.policies",
    "Analysis": "rankone.analysis",
    "Arena": "rankone.simulation",
    "Client": "rankone.client.client",
    "Database": "rankone.serving",
    "Decision": "rankone.serving",
    "Experiment": "rankone.serving",
    "Explanation": "rankone.pages",
    "Feedback": "rankone.simulation",
    "Drift": "rankone.problems",
    "Drifting": "rankone.problems",
    "Means": "rankone.problems",
    "Policy": "rankone.policies",
    "Rank1ElimKL": "rankone.policies.pairs.rank1elim_kl",
    "Product": "rankone.problems",
    "RankOne": "rankone.problems",
    "ReplayedPolicy": "rankone.analysis",
    "Study": "rankone.simulation",
    "Sweep": "rankone.simulation",
    "Thompson": "rankone.policies.pairs.thompson",
    "UCB1": "rankone.policies.pairs.ucb1",
    "UTS": "rankone.policies.pairs.uts",
    "WhatIf": "rankone.analysis",
    "WhatIfLists": "rankone.analysis",
    "analyse": "rankone.analysis",
    "arena": "rankone.simulation",
    "as_policy": "rankone.policies",
    "as_problem": "rankone.problems",
    "check_rank1": "rankone.clicks.rank1_test.check",
    "evaluate": "rankone.analysis",
    "evaluate_lists": "rankone.analysis",
    "explain": "rankone.pages",
    "hardness": "rankone.problems",
    "known_policies": "rankone.policies",
    "load_problem": "rankone.problems",
    "load_problems": "rankone.problems",
    "lower_bound": "rankone.problems",
    "lower_bound_constant": "rankone.problems",
    "needle": "rankone.problems",
    "plan": "rankone.simulation.plan",
    "random_problem": "rankone.problems",
    "recommend": "rankone.simulation",
    "report": "rankone.pages",
    "save_problem": "rankone.problems",
    "save_problems": "rankone.problems",
    "simulate": "rankone.simulation",
    "sweep": "rankone.simulation",
    "to_obp": "rankone.analysis",
    "upper_bound": "rankone.problems",
}
_MODULES = ("clicks", "errors", "lists", "policies")
# Policies beyond the usual few are in `rankone.policies`; those that were here in 0.1 are still found.
_MOVED = (
    "Best", "Challengers", "IMEDUB", "KLUCB", "KLUCBUB", "OSUB", "Rank1Elim", "Rank1ElimKLAnytime", "TopTwo",
    "UCB1Elim", "Uniform",
)  # fmt: skip
_OLD = {
    "policy": "rankone.as_policy",
    "problem": "rankone.as_problem",
    **{name: f"rankone.policies.{name}" for name in _MOVED},
}

__all__ = ["__version__", *_HOMES, *_MODULES]

find_old_modules()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"rankone.{name}")
    else:
        return old_names(__name__, _OLD)(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
