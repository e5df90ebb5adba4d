"""Pages to hand to a colleague: one HTML file each, interactive, offline."""

from rankone.pages.explain import Explanation, explain
from rankone.pages.report import report

__all__ = ["Explanation", "explain", "report"]
