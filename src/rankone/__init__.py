"""rankone: find the best pair (row, column) from clicks when a click needs both to be good.

Names are imported when they are first used, so that ``import rankone`` and ``rankone --help`` answer at once.
"""

from __future__ import annotations

import importlib
from typing import Any

from rankone._version import __version__

_HOMES = {
    "Agent": "rankone.policies",
    "Analysis": "rankone.analysis",
    "Arena": "rankone.simulation",
    "Client": "rankone.client.client",
    "Control": "rankone.live",
    "Database": "rankone.live",
    "Decision": "rankone.live",
    "Experiment": "rankone.live",
    "Explanation": "rankone.pages",
    "Feedback": "rankone.simulation",
    "Drift": "rankone.problems",
    "Drifting": "rankone.problems",
    "Means": "rankone.problems",
    "Policy": "rankone.policies",
    "Prior": "rankone.live",
    "Rank1ElimKL": "rankone.policies.factors.elimination.rank1elim_kl",
    "Product": "rankone.problems",
    "RankOne": "rankone.problems",
    "ReplayedPolicy": "rankone.analysis",
    "Stopping": "rankone.live",
    "Study": "rankone.simulation",
    "Sweep": "rankone.simulation",
    "Thompson": "rankone.policies.factors.thompson",
    "UCB1": "rankone.policies.factors.ucb1",
    "UTS": "rankone.policies.factors.unimodal.uts",
    "Outcomes": "rankone.live",
    "Watch": "rankone.live",
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
    "plan": "rankone.simulation.plans.plan",
    "random_problem": "rankone.problems",
    "recommend": "rankone.simulation",
    "report": "rankone.pages",
    "save_problem": "rankone.problems",
    "save_problems": "rankone.problems",
    "sign_visitor": "rankone.client.signing",
    "simulate": "rankone.simulation",
    "sweep": "rankone.simulation",
    "to_obp": "rankone.analysis",
    "upper_bound": "rankone.problems",
}
_MODULES = ("clicks", "errors", "lists", "policies")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"rankone.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
