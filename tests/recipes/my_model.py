"""Every item is as attractive as it is often clicked, wherever it stands."""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Lists
from rankone.clicks.models.base import ClickModel, FitProgress, per_item, smoothed_share
from rankone.numerics.arrays import Floats


@dataclasses.dataclass(eq=False)
class MyModel(ClickModel):
    """Smoothed click-through rate of an item."""

    name = "my-model"
    title = "smoothed click-through rate of an item"
    needs_lists = True

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Count clicks and impressions."""
        self.item_attraction_ = smoothed_share(
            per_item(cells, cells.clicks), per_item(cells, cells.impressions), (1.0, 2.0)
        )
        progress(1, 1)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Clicks do not depend on each other."""
        return attraction, np.array(attraction)
