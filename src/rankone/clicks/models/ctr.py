"""The three CTR baselines (Chuklin, Markov, de Rijke 2015, section 3.1-3.2): global, by rank, by document."""

import dataclasses
from typing import ClassVar

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior, per_item, per_position, smoothed_share
from rankone.clicks.models.fitting.intervals import binomial_ends, with_ends
from rankone.clicks.models.product import ProductModel
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints


@dataclasses.dataclass(eq=False, kw_only=True)
class CTRModel(ProductModel):
    """A click-through rate that ignores the item, the position or both.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every rate.
    """

    examination: str = dataclasses.field(default="shared", init=False)
    scale: str = dataclasses.field(default="as-is", init=False)
    prior: tuple[float, float] = (0.0, 0.0)

    by_item: ClassVar[bool] = False
    by_position: ClassVar[bool] = False

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Count clicks and impressions; of the items and the positions, at most one have rates of their own."""
        items, places = self._counts(cells)
        prior = check_prior(self.prior)
        attraction = np.ones(cells.n_items) if items is None else smoothed_share(*items, prior)
        examination = np.ones(cells.n_positions) if places is None else smoothed_share(*places, prior)
        self._learned(cells, np.clip(attraction, 1e-6, 1.0), np.clip(examination, 1e-6, 1.0)[None, :])

    def _counts(self, cells: Cells) -> tuple[tuple[Floats, Floats] | None, tuple[Floats, Floats] | None]:
        """Clicks and impressions behind the rate of each item, and of each position; None where that is fixed."""
        if self.by_position:
            return None, (per_position(cells, cells.clicks), per_position(cells, cells.impressions))
        if self.by_item:
            return (per_item(cells, cells.clicks), per_item(cells, cells.impressions)), None
        return (np.full(cells.n_items, cells.clicks.sum()), np.full(cells.n_items, cells.impressions.sum())), None

    def intervals(self, level: float = 0.95) -> tuple[pl.DataFrame, pl.DataFrame]:
        """`attraction_` and `examination_` with intervals of shares (columns se, low, high); what is fixed is sure."""
        attraction, examination = self.attraction_, self.examination_
        seen = examination["position"].to_numpy() - 1
        tables, (of_items, of_places) = [], self._counts(self.cells_)
        for table, name, counts in ((attraction, "attraction", of_items), (examination, "examination", of_places)):
            certain = table[name].to_numpy()
            if counts is None:
                tables.append(with_ends(table, np.zeros(table.height), certain, certain))
                continue
            clicks, shown = counts if name == "attraction" else (counts[0][seen], counts[1][seen])
            tables.append(with_ends(table, *binomial_ends(clicks, shown, level)))
        return tables[0], tables[1]

    def _examination_intervals(self, level: float = 0.95) -> pl.DataFrame:
        return self.intervals(level)[1]

    def _rate_ends(self, query: int, item: Ints, place: Ints, level: float) -> tuple[Floats, Floats]:
        """Rates are shares, and so are their intervals: of the two factors one is 1."""
        items, places = self.intervals(level)
        row = np.searchsorted(places["position"].to_numpy(), place + 1)
        low, high = (items[end].to_numpy()[item] * places[end].to_numpy()[row] for end in ("low", "high"))
        return low, high

    def overview(self) -> pl.DataFrame:
        """One row per query, the most frequent first."""
        return ClickModel.overview(self)

    def best(self, level: float = 0.95) -> pl.DataFrame:
        """Refused: a rate that ignores the item or the position cannot say which pair is best."""
        raise InputError("a model of items and positions, to find the best pair", self.name, "fit PBM()")

    @property
    def n_parameters_(self) -> int:
        """Rates that were counted."""
        self._check_fitted()
        return self.cells_.n_items if self.by_item else self.cells_.n_positions if self.by_position else 1


class GlobalCTR(CTRModel):
    """One click-through rate for everything."""

    name = "ctr-global"
    title = "global click-through rate"


class RankCTR(CTRModel):
    """One click-through rate per position."""

    name = "ctr-rank"
    title = "click-through rate by position"
    by_position = True


class DocumentCTR(CTRModel):
    """One click-through rate per item of a query."""

    name = "ctr-document"
    title = "click-through rate by item"
    by_item = True
