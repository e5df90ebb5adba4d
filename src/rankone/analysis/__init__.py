"""Counts in, answer out: which combination is best, how sure that is, and what to do next."""

from rankone.analysis.analyse import analyse
from rankone.analysis.result import Analysis
from rankone.analysis.what_if import WhatIf, evaluate

__all__ = ["Analysis", "WhatIf", "analyse", "evaluate"]
