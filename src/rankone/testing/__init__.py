"""Tests for classes of your own: what rankone asks of its policies, problems, click models, log formats and storages.

A suite is a class with tests as its methods. In a test module, say what is to be tested; pytest finds the rest::

    from rankone.testing import PolicySuite

    class TestGreedy(PolicySuite):
        policy = EpsilonGreedy()

Elsewhere, in a script or a notebook, ``PolicySuite.check(policy=EpsilonGreedy())`` runs them one after the other and
needs no pytest. What fails says what was expected, what came and what to do (`rankone.errors.ConformanceError`).
"""

from rankone.testing.click_models import ClickModelSuite
from rankone.testing.formats import FormatSuite
from rankone.testing.policies import PolicySuite
from rankone.testing.problems import FamilySuite, ProblemSuite
from rankone.testing.storages import StorageSuite
from rankone.testing.suite import Suite

__all__ = ["ClickModelSuite", "FamilySuite", "FormatSuite", "PolicySuite", "ProblemSuite", "StorageSuite", "Suite"]
