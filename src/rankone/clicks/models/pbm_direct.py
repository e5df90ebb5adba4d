"""Position-based model by direct maximum likelihood: Fisher scoring on the logarithms, inside a shrinking barrier.

With x = log a and y = log g the log-likelihood of a cell, c (x + y) + (n - c) log(1 - exp(x + y)), is concave, so
there is one maximum (as far as products go) and no start to worry about. The model is that of
`rankone.clicks.models.pbm`; this is a second, independent road to it. The bounds x <= 0 and y <= 0 are kept by a
barrier, tau * log(-x), whose weight tau falls to nearly nothing; the barrier also fixes the scale, which the
likelihood leaves open.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rankone.clicks.counts.count_arrays import Cells, Floats, Ints, summed
from rankone.clicks.models.base import FitProgress
from rankone.clicks.models.em import LOWEST
from rankone.clicks.models.product import ProductModel
from rankone.clicks.models.uncertainty import eliminate
from rankone.deprecation import old_positions

_BARRIERS = 10.0 ** -np.arange(0.0, 11.0)
_STEPS = 50
_HALVINGS = 30


@old_positions()
@dataclasses.dataclass(eq=False, kw_only=True)
class PBMDirect(ProductModel):
    """Position-based model by direct maximum likelihood.

    >>> import polars as pl
    >>> from rankone.clicks import Counts
    >>> counts = Counts(pl.DataFrame({"query": "q", "item": ["a", "a", "b", "b"], "position": [1, 2, 1, 2],
    ...                               "impressions": 1000, "clicks": [400, 100, 200, 50]}))
    >>> PBMDirect().fit(counts).attraction_["attraction"].round(3).to_list()
    [0.4, 0.2]
    """

    name = "pbm-direct"
    title = "position-based model (direct maximum likelihood)"

    def learn(self, cells: Cells, progress: FitProgress) -> None:
        """Climb in each query (or in all together, with a shared curve)."""
        self._check_settings()
        starts = self._item_starts(cells)
        groups = len(starts) - 1
        a, g = np.zeros(cells.n_items), np.full((groups, cells.n_positions), 0.5)
        self.log_likelihoods_ = np.zeros(len(_BARRIERS))
        for group in range(groups):
            items = slice(starts[group], starts[group + 1])
            inside = slice(cells.item_cells[items.start], cells.item_cells[items.stop])
            climb = _Climb(
                cells.item[inside] - items.start, cells.position[inside],
                cells.impressions[inside], cells.clicks[inside], cells.n_positions,
            )  # fmt: skip
            for stage, tau in enumerate(_BARRIERS):
                climb.run(tau)
                self.log_likelihoods_[stage] += climb.value(climb.x, climb.y, 0.0)
            a[items], g[group] = np.exp(climb.x), np.exp(climb.y)
            progress(group + 1, groups)
        self._learned(cells, a, g)


class _Climb:
    """The climb of one group; items and positions without clicks stay at the lowest value, which is best for them."""

    def __init__(self, item: Ints, place: Ints, n: Floats, c: Floats, n_places: int) -> None:
        self.item, self.place, self.n, self.c = item, place, n, c
        n_items = int(item.max()) + 1
        clicks = summed(item, c, n_items)
        self.free_x, self.free_y = clicks > 0.0, summed(place, c, n_places) > 0.0
        self.x = np.where(self.free_x, np.log((clicks + 0.5) / (summed(item, n, n_items) + 1.0)) / 2.0, np.log(LOWEST))
        self.y: Floats = np.where(self.free_y, float(np.log(0.5)), float(np.log(LOWEST)))

    def value(self, x: Floats, y: Floats, tau: float) -> float:
        """Log-likelihood plus barrier; minus infinity outside of the bounds."""
        if x.max() >= 0.0 or y.max() >= 0.0:
            return -np.inf
        z = x[self.item] + y[self.place]
        likelihood = np.sum(self.c * z + (self.n - self.c) * np.log(-np.expm1(z)))
        return float(likelihood + tau * (np.log(-x[self.free_x]).sum() + np.log(-y[self.free_y]).sum()))

    def run(self, tau: float) -> None:
        """Climb to the top inside the barrier of weight `tau`."""
        value = self.value(self.x, self.y, tau)
        for _ in range(_STEPS):
            step_x, step_y = self._step(tau)
            for halving in range(_HALVINGS):
                x, y = self.x + step_x / 2**halving, self.y + step_y / 2**halving
                raised = self.value(x, y, tau)
                if raised > value:
                    break
            if not raised > value + 1e-3 * tau:  # the barrier itself costs about tau a parameter
                return
            self.x, self.y, value = x, y, raised

    def _step(self, tau: float) -> tuple[Floats, Floats]:
        """Solve the information matrix for the slope; both are those of the likelihood plus the barrier."""
        odds = 1.0 / np.expm1(-(self.x[self.item] + self.y[self.place]))
        slope = self.c - (self.n - self.c) * odds
        up_x = summed(self.item, slope, len(self.x)) + tau / self.x
        up_y = summed(self.place, slope, len(self.y)) + tau / self.y
        weight = np.where(self.free_x[self.item] & self.free_y[self.place], self.n * odds, 0.0)
        parts = eliminate(
            self.item, self.place, weight, len(self.x), len(self.y), np.flatnonzero(~self.free_y),
            tau / self.x**2, tau / self.y**2,
        )  # fmt: skip
        step_y = parts.places @ (up_y - parts.border.T @ (up_x / parts.diagonal))
        step_x = np.where(self.free_x, (up_x - parts.border @ step_y) / parts.diagonal, 0.0)
        return step_x, step_y
