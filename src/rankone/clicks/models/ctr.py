"""The three CTR baselines (Chuklin, Markov, de Rijke 2015, section 3.1-3.2): global, by rank, by document."""

import dataclasses
from typing import ClassVar

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Lists
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior, per_item, per_position, smoothed_share
from rankone.numerics.arrays import Floats


@dataclasses.dataclass(eq=False, kw_only=True)
class CTRModel(ClickModel):
    """A click-through rate that ignores the item, the position or both: what other models have to beat.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every rate.
    """

    prior: tuple[float, float] = (0.0, 0.0)

    by_item: ClassVar[bool] = False
    by_position: ClassVar[bool] = False

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Count clicks and impressions; of the items and the positions, at most one have rates of their own."""
        prior, one = check_prior(self.prior), np.ones(1)
        clicks, shown = cells.clicks, cells.impressions
        if self.by_position:
            clicks, shown = per_position(cells, clicks), per_position(cells, shown)
        elif self.by_item:
            clicks, shown = per_item(cells, clicks), per_item(cells, shown)
        else:
            clicks, shown = clicks.sum(keepdims=True), shown.sum(keepdims=True)
        rates = np.clip(smoothed_share(clicks, shown, prior), 1e-6, 1.0)
        self.item_attraction_ = np.resize(one if self.by_position else rates, cells.n_items)
        self.curve_ = np.resize(rates if self.by_position else one, cells.n_positions)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Clicks above change nothing."""
        product = attraction * self.curve_
        return product, product

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
