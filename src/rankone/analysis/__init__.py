"""Counts in, answer out: which combination is best, how sure that is, and what to do next."""

from rankone.analysis.analyse import analyse
from rankone.analysis.result import Analysis
from rankone.analysis.what_if.replayed_policy import ReplayedPolicy
from rankone.analysis.what_if.what_if import WhatIf, WhatIfLists, evaluate, evaluate_lists

analyze = analyse  # the American spelling

__all__ = ["Analysis", "ReplayedPolicy", "WhatIf", "WhatIfLists", "analyse", "analyze", "evaluate"]
__all__ += ["evaluate_lists"]
