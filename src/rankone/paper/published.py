"""Published tables cell by cell: what was printed, what is measured, and a verdict by combined standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from rankone.paper.claims import Claim
from rankone.simulation import Study

#: Standard errors, of both figures together, within which two figures agree.
AGREE = 3.0


@dataclass(frozen=True)
class Cell:
    """A figure of a published table: which problem and policy it is about, and the mean ± standard error printed."""

    table: str
    problem: str
    policy: str
    mean: float
    se: float


def compare(cells: Sequence[Cell], studies: Sequence[Study]) -> pl.DataFrame:
    """Return a row per cell: printed, measured, their difference in combined standard errors, and the verdict."""
    measured = {
        (row["problem"], row["policy"]): row for study in studies for row in study.summary().iter_rows(named=True)
    }
    rows = []
    for cell in cells:
        found = measured[cell.problem, cell.policy]
        both = math.hypot(cell.se, found["regret_se"] or 0.0)
        apart = (found["regret_mean"] - cell.mean) / both
        rows.append(
            {
                "table": cell.table, "problem": cell.problem, "policy": cell.policy, "published": cell.mean,
                "its se": cell.se, "measured": found["regret_mean"], "± se": found["regret_se"],
                "ratio": found["regret_mean"] / cell.mean, "standard errors": apart,
                "verdict": "agrees" if abs(apart) <= AGREE else "differs",
            }
        )  # fmt: skip
    return pl.DataFrame(rows)


def judge_tables(compared: pl.DataFrame, titles: Mapping[str, str]) -> list[Claim]:
    """Judge each table as a whole, policy by policy: do all of its figures agree?"""
    claims = []
    for (table, policy), cells in compared.group_by("table", "policy", maintain_order=True):
        agree = cells.filter(pl.col("verdict") == "agrees").height
        ratios = sorted(cells["ratio"].to_list())
        spread = f"measured / published {ratios[0]:.2f} to {ratios[-1]:.2f}"
        claims.append(
            Claim(
                f"{titles[str(table)]}: {policy}", f"every figure within {AGREE:g} combined standard errors",
                f"{agree} of {cells.height} agree; {spread}", agree == cells.height,
            )
        )  # fmt: skip
    return claims
