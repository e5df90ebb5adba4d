"""The three CTR baselines (Chuklin, Markov, de Rijke 2015, section 3.1-3.2): global, by rank, by document."""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.models.base import FitProgress, per_item, per_position, smoothed_share
from rankone.clicks.models.pbm import check_prior
from rankone.clicks.models.product import ProductModel
from rankone.deprecation import old_positions


@old_positions()
@dataclasses.dataclass(eq=False, kw_only=True)
class CTRModel(ProductModel):
    """A click-through rate that ignores the item, the position or both.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every rate.
    """

    examination: str = dataclasses.field(default="shared", init=False)
    scale: str = dataclasses.field(default="as-is", init=False)
    prior: tuple[float, float] = (0.0, 0.0)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Count clicks and impressions."""
        attraction, examination = self._rates(cells, check_prior(self.prior))
        self._learned(cells, np.clip(attraction, 1e-6, 1.0), np.clip(examination, 1e-6, 1.0)[None, :])

    def _rates(self, cells: Cells, prior: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return one attraction an item and one examination a position."""
        raise TypeError(f"{type(self).__name__} must define _rates(cells, prior)")


class GlobalCTR(CTRModel):
    """One click-through rate for everything."""

    name = "ctr-global"
    title = "global click-through rate"

    def _rates(self, cells: Cells, prior: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return the rate of the whole log."""
        share = smoothed_share(cells.clicks.sum(), cells.impressions.sum(), prior)
        return np.full(cells.n_items, share), np.ones(cells.n_positions)


class RankCTR(CTRModel):
    """One click-through rate a position."""

    name = "ctr-rank"
    title = "click-through rate by position"

    def _rates(self, cells: Cells, prior: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return the rate of each position."""
        shown = per_position(cells, cells.impressions)
        return np.ones(cells.n_items), smoothed_share(per_position(cells, cells.clicks), shown, prior)


class DocumentCTR(CTRModel):
    """One click-through rate an item of a query."""

    name = "ctr-document"
    title = "click-through rate by item"

    def _rates(self, cells: Cells, prior: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return the rate of each item."""
        share = smoothed_share(per_item(cells, cells.clicks), per_item(cells, cells.impressions), prior)
        return share, np.ones(cells.n_positions)
