"""A claim of the paper with the figure that judges it, and the result of reproducing one figure of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankone.charts.chart import Chart
from rankone.notebook import Shown
from rankone.simulation.provenance import write_about
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
