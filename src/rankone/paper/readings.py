"""Whom the paper's figures compare, and the two readings of Rank1ElimKL under which every claim is judged.

The paper prints the confidence level log n + 3 log log n (Algorithm 1); its figures look like log n alone.
"""

from __future__ import annotations

AS_PRINTED = "as printed (c = 3)"
READINGS = {"rank1elim-kl": AS_PRINTED, "rank1elim-kl:c=0": "level log n (c = 0)"}
BASELINES = ("rank1elim", "ucb1-elim", "ucb1")
POLICIES = (*READINGS, *BASELINES, "kl-ucb")
