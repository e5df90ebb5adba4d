"""rankone: find the best pair (row, column) from clicks when a click needs both to be good.

Names are imported when they are first used, so that ``import rankone`` and ``rankone --help`` answer at once.
"""

import importlib
from typing import Any

from rankone._version import __version__

# The public names, by the module that each is from.
_HOMES = {
    name: home
    for home, names in {
        "rankone.analysis.personal": "Personal personal",
        "rankone.analysis": "Analysis ReplayedPolicy WhatIf WhatIfLists analyse analyze evaluate evaluate_lists",
        "rankone.analysis.revenue": "RevenueAnalysis analyse_revenue",
        "rankone.clicks.rank1_test.check": "check_rank1",
        "rankone.client.async_client": "AsyncClient",
        "rankone.client.client": "Client",
        "rankone.client.signing": "sign_visitor",
        "rankone.live.winners": "winners",
        "rankone.live": "Control Database Decision Experiment Outcomes Prior Ranking Stopping Watch",
        "rankone.pages": "Explanation explain report",
        "rankone.policies": "Agent Policy as_policy known_policies",
        "rankone.policies.factors.elimination.rank1elim_kl": "Rank1ElimKL",
        "rankone.policies.factors.thompson": "Thompson",
        "rankone.policies.factors.ucb1": "UCB1",
        "rankone.policies.factors.unimodal.uts": "UTS",
        "rankone.problems": (
            "Drift Drifting Means Product RankOne as_problem hardness load_problem load_problems "
            "lower_bound lower_bound_constant needle random_problem save_problem save_problems upper_bound"
        ),
        "rankone.simulation": "Arena Feedback Study Sweep arena recommend simulate sweep",
        "rankone.simulation.identification": "Identification identify",
        "rankone.simulation.plans.plan": "plan",
        "rankone.simulation.plans.plan_goal": "plan_goal",
        "rankone.simulation.plans.plan_lists": "plan_lists",
    }.items()
    for name in names.split()
}
_MODULES = ("clicks", "edge", "errors", "lists", "policies")

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
