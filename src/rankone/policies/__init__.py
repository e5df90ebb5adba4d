"""Who chooses. One algorithm is one file; defining the policy's class registers its name."""

from rankone.policies.agent import Agent, Decision
from rankone.policies.base import Policy, known_policies, policy

__all__ = ["Agent", "Decision", "Policy", "known_policies", "policy"]
