"""Dependent click model: after a click the user goes on with a probability that depends on the position.

Guo, Liu, Wang, "Efficient multiple-click models in web search" (WSDM 2009), section 4.2: the probability to go on
after a click at a position is the share of the clicks there that are not the last of their list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankone.clicks.counts.count_arrays import Cells, Floats
from rankone.clicks.logs.held_out_lists import Lists
from rankone.clicks.models.base import per_position, smoothed_share
from rankone.clicks.models.browsing import BrowsingModel
from rankone.problems import lists


class DCM(BrowsingModel):
    """Dependent click model; the continuation probabilities are shared by all queries."""

    name = "dcm"
    title = "dependent click model"

    def _learn_continuation(self, cells: Cells, prior: tuple[float, float]) -> None:
        """Share of clicks that are not the last, per position."""
        clicks = per_position(cells, cells.clicks)
        self._continuation = smoothed_share(clicks - per_position(cells, cells.last_clicks), clicks, prior)

    @property
    def continuation_(self) -> pl.DataFrame:
        """One row per position: probability to go on after a click there."""
        self._check_fitted()
        return pl.DataFrame({"position": np.arange(1, len(self._continuation) + 1), "continuation": self._continuation})

    def _as_list(self, query: int, items: slice, positions: int, named: dict[str, Any]) -> lists.DCM:
        leaves = np.clip(1.0 - self._continuation[:positions], 1e-6, 1.0)  # a position that nobody leaves is no world
        return lists.DCM(self.item_attraction_[items], leaves, **named)

    def _going_on(self, lists: Lists) -> Floats:
        """Per position, whatever the list."""
        return np.broadcast_to(self._continuation, lists.shown.shape)
