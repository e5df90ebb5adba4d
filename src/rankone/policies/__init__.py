"""Who chooses. One algorithm is one file; defining the policy's class registers its name."""

from typing import TYPE_CHECKING

from rankone.deprecation import old_names
from rankone.policies.agent import Agent, Decision
from rankone.policies.base import Policy, as_policy, known_policies

__all__ = ["Agent", "Decision", "Policy", "as_policy", "known_policies"]

if not TYPE_CHECKING:  # to a type checker there are only the new names
    __getattr__ = old_names("rankone.policies", {"policy": "rankone.policies.as_policy"})
