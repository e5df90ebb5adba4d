"""Counts in, answer out: which combination is best, how sure that is, and what to do next."""

from rankone.analysis.analyse import analyse
from rankone.analysis.result import Analysis

__all__ = ["Analysis", "analyse"]
