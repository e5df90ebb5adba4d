"""A claim of a paper with the figure that judges it, and the result of reproducing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankone.charts.chart import Chart
from rankone.notebook import Shown
from rankone.simulation.store import write_about
from rankone.writing import write_table, writing_under


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, the reading it is judged under, what was measured, and whether it holds."""

    claim: str
    reading: str
    measured: str
    holds: bool

    @classmethod
    def within(
        cls, claim: str, reading: str, what: str, values: Sequence[float], low: float, high: float, style: str = ".2f"
    ) -> Claim:
        """Judge a claim that holds where all values lie between two numbers.

        >>> Claim.within("it doubles", "as printed", "grows by", [2.125, 4], 1.6, 2.5)
        Claim(claim='it doubles', reading='as printed', measured='grows by 2.12, 4.00', holds=False)
        """
        measured = ", ".join(format(value, style) for value in values)
        return cls(claim, reading, f"{what} {measured}", all(low < value < high for value in values))

    @property
    def verdict(self) -> str:
        """What tables say."""
        return "holds" if self.holds else "does not hold"


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
        columns = ("claim", "reading", "measured", "verdict")
        return pl.DataFrame({name: [getattr(claim, name) for claim in self.claims] for name in columns})

    def save(self, directory: Path, command: str | None = None) -> None:
        """Write tables and claims as CSV, charts as PNG, SVG, HTML and JSON, and the command that makes them again."""
        content = {"command": command, "tables": list(self.tables), "charts": list(self.charts)}
        with writing_under(directory):
            write_about(directory, "reproduction", content)
            for title, table in self.tables.items():
                write_table(directory / f"{title}.csv", table)
            write_table(directory / "claims.csv", self.claim_table())
            for name, chart in self.charts.items():
                for suffix in (".png", ".svg", ".html", ".json"):
                    chart.save(directory / f"{name}{suffix}")
