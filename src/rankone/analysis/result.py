"""The answer of an analysis: for reading, for programs, as pictures and as a page."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankone.analysis import wording
from rankone.analysis.product.best import Bounded
from rankone.analysis.split_check import Mismatch
from rankone.charts.chart import Chart
from rankone.clicks.counts.dispersion import Dispersion
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.clicks.rank1_test.report import Rank1Report
from rankone.errors import InputError
from rankone.notebook import Answer
from rankone.wording.numbers import percent

if TYPE_CHECKING:
    from rankone.problems import RankOne


class RawWinner(NamedTuple):
    """The combination with the highest rate as observed, and what it is worth after allowing for its luck.

    `rate` is what was observed, with an interval that needs no product; `shrunken` is what the whole table makes of it.
    """

    levels: dict[str, str]
    shown: int
    clicked: int
    rate: Bounded
    shrunken: float


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Analysis(Answer):
    """What counts say: see `rankone.analyse`.

    `print(analysis)` is a page of text; `to_dict`, `chart`, `heatmap` and `save` are the rest of the answer.
    """

    counts: FactorCounts
    confidence: float
    best: dict[str, str]  # the best level of each factor
    rate: Bounded  # click rate of the best combination, if rates are products
    levels: pl.DataFrame  # factor, level, shown, clicked, rate, fitted, ratio, low, high; with a control its ratios
    combinations: pl.DataFrame  # the factors, shown, clicked, rate, fitted, shrunken, deviation; with days average_day
    winner: RawWinner
    check: Rank1Report | None  # of every two factors; None where there is only one
    dispersion: Dispersion
    mismatch: Mismatch | None  # of the visitors of levels, where the split looks meant to be even
    control: dict[str, str] | None
    against_control: Bounded | None  # rate of the best combination over the control's
    needed: float = math.inf  # impressions, split as before, until all is settled if the fitted rates are true
    groups: dict[str, list[list[str]]] = dataclasses.field(default_factory=dict)  # of levels that cannot be compared
    day_scatter: dict[str, float] = dataclasses.field(default_factory=dict)  # of a level's log rate from day to day

    @property
    def candidates(self) -> dict[str, list[str]]:
        """The levels of each factor that may be the best one."""
        able = self.levels.filter(pl.col("high") >= 1.0)
        return {name: able.filter(pl.col("factor") == name)["level"].to_list() for name in self.counts.factors}

    @property
    def proves(self) -> bool:
        """Whether the counts can prove anything: no visitors are missing, no policy chose by clicks what to show."""
        return self.mismatch is None and not self.counts.adaptive

    @property
    def decided(self) -> bool:
        """Whether every factor has one level left that may be the best: one of several, and that is proven."""
        if self.groups or not self.proves or max(self.counts.sizes) == 1:
            return False
        return all(len(able) == 1 for able in self.candidates.values())

    @property
    def best_was_shown(self) -> bool:
        """Whether the best combination was ever shown; if not, its rate is what the product predicts."""
        return bool((self.counts.cells == self.counts.numbered(self.best)).all(axis=1).any())

    @property
    def at_most_lost(self) -> float:
        """Share of the best rate that showing `best` may give up, by the lower bounds of its levels."""
        low = {(row["factor"], row["level"]): row["low"] for row in self.levels.iter_rows(named=True)}
        return 1.0 - math.prod(low[own] for own in self.best.items())

    @property
    def doubtful(self) -> bool:
        """Whether the counts speak against a product of factors."""
        return self.check is not None and self.check.doubtful

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        return wording.headline(self)

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return wording.assumes(self)

    @property
    def details(self) -> str:
        """Intervals, tests and conditions."""
        return "\n".join(wording.sentences(self, *wording.DETAILS))

    def _before(self) -> list[str]:
        return wording.sentences(self, "mismatch")

    def _notes(self) -> list[str]:
        return wording.sentences(self, *wording.NOTES)

    def _after(self) -> list[str]:
        return wording.sentences(self, *wording.AFTER)

    def _tables(self) -> dict[str, Any]:
        return {"levels": self.levels, "combinations": self.combinations}

    def _shown(self) -> pl.DataFrame:
        return wording.main_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counts = self.counts
        return {
            **self.depths(),
            "best": {"levels": self.best, **_interval(self.rate)},
            "decided": self.decided,
            "best_was_shown": self.best_was_shown,
            "candidates": self.candidates,
            "groups": self.groups,
            "at_most_lost": self.at_most_lost,
            "levels": _plain(self.levels),
            "combinations": _plain(self.combinations),
            "observed_winner": self.winner._asdict() | _interval(self.winner.rate),
            "control": self.control,
            "best_to_control": self.against_control and _interval(self.against_control, "ratio"),
            "rank1": self.check and self.check.to_dict(),
            "dispersion": self.dispersion.to_dict(),
            "split": self.mismatch and self.mismatch.to_dict(),
            "days": None if counts.slices is None else len(counts.slices.names),
            "day_scatter": self.day_scatter,
            "confidence": self.confidence,
            "impressions": int(counts.shown.sum()),
            "clicks": int(counts.clicked.sum()),
            "needed_impressions": self.needed if math.isfinite(self.needed) else None,
            "few_data": wording.sentences(self, "few data"),
            "next": wording.sentences(self, "next"),
            "conditions": wording.sentences(self, "assumed", "conditions", "adaptive"),
            "columns": None if counts.columns is None else counts.columns.to_dict(),
            "notes": list(counts.notes),
        }

    def chart(self) -> Chart:
        """Draw every level's ratio to the best one of its factor, with intervals."""
        from rankone.charts.factors import level_chart

        note = f"Bars: {percent(self.confidence)} intervals, whichever level is truly best"
        return level_chart(self.levels, self.headline.removesuffix("."), note)

    def heatmap(self) -> Chart:
        """Draw how far each pair is from the product; of more than two factors, for the two that fit worst."""
        if self.check is None:
            raise InputError("two factors or more", "one", "draw analysis.chart()")
        return self.check.chart()

    def problem(self) -> RankOne:
        """Return two factors as a problem to simulate policies on, with the fitted values."""
        from rankone.problems import RankOne

        if len(self.counts.factors) != 2:
            raise InputError("two factors", f"{len(self.counts.factors)}", "analyse two of them")
        if self.groups:
            raise InputError("levels that can be compared", "groups that share no level", "show them together first")
        sides = [self.levels.filter(pl.col("factor") == name) for name in self.counts.factors]
        rows, cols = ([min(value, 1.0) for value in side["fitted"]] for side in sides)
        names = [side["level"].to_list() for side in sides]
        return RankOne(rows=rows, cols=cols, row_names=names[0], col_names=names[1], name="analysed")

    def save(self, path: str | Path) -> Path:
        """Write the report: one HTML file that opens without a network."""
        from rankone.analysis.page import analysis_html
        from rankone.writing import write_file

        path = Path(path)
        if path.suffix != ".html":
            raise InputError("a path ending in .html", str(path), "save as 'answer.html', or use chart().save(...)")
        write_file(path, analysis_html(self))
        return path


def _interval(bounded: Bounded, name: str = "rate") -> dict[str, float | None]:
    values = {name: bounded.value, "low": bounded.low, "high": bounded.high}
    return {key: value if math.isfinite(value) else None for key, value in values.items()}


def _plain(table: pl.DataFrame) -> list[dict[str, Any]]:
    number = pl.selectors.float()
    return table.with_columns(pl.when(number.is_finite()).then(number)).to_dicts()
