"""A claim of a paper with the figure that judges it, cells of published tables, and the result of reproducing one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankone.charts.chart import Chart
from rankone.notebook import Shown
from rankone.simulation import Study
from rankone.simulation.store import write_about
from rankone.writing import write_table, writing_under


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, the reading it is judged under, what was measured, and whether it holds."""

    claim: str
    reading: str
    measured: str
    holds: bool


def in_a_row(values: Sequence[float], style: str = ".2f") -> str:
    """Write the figures that a claim is judged by.

    >>> in_a_row([2.125, 4]), in_a_row([0.071], ".1%")
    ('2.12, 4.00', '7.1%')
    """
    return ", ".join(format(value, style) for value in values)


@dataclass(frozen=True, repr=False)
class Reproduction(Shown):
    """Tables, claims and pictures of one reproduced figure."""

    tables: Mapping[str, pl.DataFrame]
    claims: Sequence[Claim]
    charts: Mapping[str, Chart]

    def _sentence(self) -> str:
        held = sum(claim.holds for claim in self.claims)
        return f"{held} of {len(self.claims)} claims hold." if self.claims else ""

    def _tables(self) -> Mapping[str, pl.DataFrame]:
        return ({"claims": self.claim_table()} if self.claims else {}) | dict(self.tables)

    def claim_table(self) -> pl.DataFrame:
        """Return the claims as a table: claim, reading, measured, verdict."""
        return pl.DataFrame(
            {
                "claim": [claim.claim for claim in self.claims],
                "reading": [claim.reading for claim in self.claims],
                "measured": [claim.measured for claim in self.claims],
                "verdict": ["holds" if claim.holds else "does not hold" for claim in self.claims],
            }
        )

    def save(self, directory: Path, command: str | None = None) -> None:
        """Write every table as CSV, the claims as claims.csv and every chart as PNG, SVG, HTML and JSON.

        Args:
            directory: where to.
            command: what makes the same again, for a report.
        """
        content = {"command": command, "tables": list(self.tables), "charts": list(self.charts)}
        with writing_under(directory):
            write_about(directory, "reproduction", content)
            for title, table in self.tables.items():
                write_table(directory / f"{title}.csv", table)
            write_table(directory / "claims.csv", self.claim_table())
            for name, chart in self.charts.items():
                for suffix in (".png", ".svg", ".html", ".json"):
                    chart.save(directory / f"{name}{suffix}")


AS_PRINTED = "as printed (c = 3)"
READINGS = {"rank1elim-kl": AS_PRINTED, "rank1elim-kl:c=0": "level log n (c = 0)"}
BASELINES = ("rank1elim", "ucb1-elim", "ucb1")
POLICIES = (*READINGS, *BASELINES, "kl-ucb")


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
                "table": cell.table,
                "problem": cell.problem,
                "policy": cell.policy,
                "published": cell.mean,
                "its se": cell.se,
                "measured": found["regret_mean"],
                "± se": found["regret_se"],
                "ratio": found["regret_mean"] / cell.mean,
                "standard errors": apart,
                "verdict": "agrees" if abs(apart) <= AGREE else "differs",
            }
        )
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
                f"{titles[str(table)]}: {policy}",
                f"every figure within {AGREE:g} combined standard errors",
                f"{agree} of {cells.height} agree; {spread}",
                agree == cells.height,
            )
        )
    return claims
