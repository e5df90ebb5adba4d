"""Worlds whose items or visitors have features, which a policy sees before it decides."""

from rankone.problems.contextual.coverage import Coverage
from rankone.problems.contextual.feature_lists import FixedFeatures, FreshFeatures, c3, jmlr, logit, vial
from rankone.problems.contextual.visitors import Visitors, visitors

__all__ = ["Coverage", "FixedFeatures", "FreshFeatures", "Visitors", "c3", "jmlr", "logit", "vial", "visitors"]
