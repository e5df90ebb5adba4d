"""Tests for classes of your own: what rankone asks of its policies, problems and families of problems.

A suite is a class with tests as its methods. In a test module, say what is to be tested, and pytest finds the rest:
``class TestGreedy(PolicySuite): policy = EpsilonGreedy()``. Elsewhere, in a script or a notebook,
``PolicySuite.check(policy=EpsilonGreedy())`` runs them one after the other and needs no pytest. What fails says what
was expected, what came and what to do (`rankone.errors.ConformanceError`).
"""

from rankone.testing.policies import PolicySuite
from rankone.testing.problems import FamilySuite, ProblemSuite
from rankone.testing.suite import Suite

__all__ = ["FamilySuite", "PolicySuite", "ProblemSuite", "Suite"]
