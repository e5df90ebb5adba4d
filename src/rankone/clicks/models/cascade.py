"""Cascade model: the user reads from the top and stops at the first click.

Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models" (WSDM 2008), section 3.4.
Maximum likelihood in closed form: attraction = clicks / impressions, over impressions without a click above.
"""

import dataclasses
from typing import Any

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Lists
from rankone.clicks.models.base import ClickModel, FitProgress, check_prior, per_item, smoothed_share
from rankone.numerics.arrays import Floats
from rankone.problems import lists


@dataclasses.dataclass(eq=False, kw_only=True)
class Cascade(ClickModel):
    """Cascade model.

    Args:
        prior: pseudo-counts (clicks, impressions) added to every parameter.
    """

    name = "cascade"
    title = "cascade model"
    read_as = "cascade"
    needs_lists = True

    prior: tuple[float, float] = (1.0, 2.0)

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Count clicks and impressions up to the first click."""
        reached = cells.previous == 0
        clicks, shown = per_item(cells, cells.clicks, reached), per_item(cells, cells.impressions, reached)
        self.item_attraction_ = smoothed_share(clicks, shown, check_prior(self.prior))

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.Cascade:
        return lists.Cascade(self.item_attraction_[items], positions, **named)

    def chances(self, lists: Lists, attraction: Floats) -> tuple[Floats, Floats]:
        """Nothing is examined after a click."""
        shown = np.where(lists.shown, attraction, 0.0)
        reached = np.cumprod(1.0 - shown, axis=1)
        above = np.concatenate([np.ones((len(shown), 1)), reached[:, :-1]], axis=1)
        return np.where(lists.previous == 0, attraction, 0.0), attraction * above
