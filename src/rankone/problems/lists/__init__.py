"""Worlds in which a decision is a list: cascade, position-based, dependent clicks. Public as `rankone.lists`."""

from rankone.problems.lists.base import CURVE, ListProblem
from rankone.problems.lists.cascade import Cascade, Conjunctive, cascade, conjunctive
from rankone.problems.lists.dcm import DCM, SDBN, dcm
from rankone.problems.lists.drifting_lists import DriftingLists
from rankone.problems.lists.pbm import PBM, pbm_list
from rankone.problems.lists.ubm import UBM

__all__ = ["CURVE", "DCM", "PBM", "SDBN", "UBM", "Cascade", "Conjunctive", "DriftingLists", "ListProblem"]
__all__ += ["cascade", "conjunctive", "dcm", "pbm_list"]
