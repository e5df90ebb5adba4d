"""The likeliest product of levels, for any number of factors: P(click) = product over factors of the level's value.

With x the logarithm of the values, a cell with n impressions and c clicks has the log-likelihood
c eta + (n - c) log(1 - exp(eta)), eta the sum of its levels' x. It is concave wherever eta < 0, so damped Newton steps
find the maximum. Values are probabilities: no combination may have eta > 0, whether it was shown or not. Only the one
of the largest x can break that first; where it does, it and others that break it join as cells whose few misses keep
them below 0.

A `tilt` adds tilt . x to the log-likelihood, which is to add so many clicks to levels. It moves the maximum along the
profile of any contrast; `rankone.analysis.intervals` reads intervals off that path.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankone.clicks.counts.count_arrays import Floats, Ints

Bools = np.ndarray[Any, np.dtype[np.bool_]]

_BARRIER = 1e-6  # misses of a cell that has none: keeps the rate below 1, by a millionth of a click
_STEPS, _HALVINGS, _CUTS = 200, 60, 200
_CLOSE = 1e-10  # of the log-likelihood
_RIDGE = 1e-10  # of the largest curvature; scales that only the convention fixes stay where they are
_ROOM = 0.05


class Maximum(NamedTuple):
    """Where the tilted log-likelihood is largest."""

    x: Floats  # (levels,), -inf for levels without a click
    log_likelihood: float  # without the tilt
    curvature: Floats  # (levels, levels), minus the second derivatives; zero for levels at -inf


@dataclasses.dataclass(eq=False)
class Design:
    """Cells of a table: `levels` (cells, factors) numbers the levels of all factors one after the other.

    >>> design = Design.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), (2, 2), [1000] * 4, [400, 100, 200, 50])
    >>> best = design.maximise()
    >>> np.exp(best.x[design.levels].sum(axis=1)).round(4).tolist()
    [0.4, 0.1, 0.2, 0.05]
    """

    levels: Ints
    sizes: tuple[int, ...]
    shown: Floats
    clicked: Floats
    prior: Floats | None = None  # precision of a normal prior around 0 for each level's x; rates are then not bounded

    def __post_init__(self) -> None:
        self.n_levels = sum(self.sizes)
        self.starts: Ints = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)  # first level of each factor
        self._cuts = np.zeros((0, len(self.sizes)), np.int64)
        self.level_clicks = self._added(self.levels, self.clicked)
        self.level_shown = self._added(self.levels, self.shown)

    @classmethod
    def of(cls, places: Ints, sizes: tuple[int, ...], shown: object, clicked: object) -> Design:
        """Return the design of cells whose levels are numbered in each factor from 0."""
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        return cls(places + starts, sizes, np.asarray(shown, np.float64), np.asarray(clicked, np.float64))

    def rates(self, x: Floats) -> Floats:
        """Click rates of the cells."""
        return np.exp(x[self.levels].sum(axis=1))

    def maximise(self, tilt: Floats | None = None, start: Floats | None = None) -> Maximum:
        """Return the maximum of the log-likelihood plus tilt . x; a level without clicks goes to -inf."""
        tilt = np.zeros(self.n_levels) if tilt is None else tilt
        alive: Bools = (self.level_clicks + tilt > 0.0) | (self.prior is not None)
        x = self._start(tilt, alive) if start is None else np.where(alive, start, -np.inf)
        if start is not None and not np.isfinite(x[alive]).all():
            x = self._start(tilt, alive)
        for _ in range(_CUTS):
            kept = alive[self.levels].all(axis=1)
            levels = np.concatenate([self.levels[kept], self._cuts[alive[self._cuts].all(axis=1)]])
            extra = len(levels) - int(kept.sum())
            clicked = np.append(self.clicked[kept], np.zeros(extra))
            misses = np.append((self.shown - self.clicked)[kept], np.zeros(extra)) + _BARRIER
            x = self._inside(x, levels)
            x, value, curvature = self._newton(x, levels, clicked, misses, tilt, alive)
            if self.prior is not None or not np.maximum.reduceat(x, self.starts[:-1]).sum() > 0.0:
                break
            self._cuts = np.unique(np.concatenate([self._cuts, self._above_one(x)]), axis=0)
        return Maximum(x, value, curvature)

    def _above_one(self, x: Floats) -> Ints:
        """Combinations of each level with the best ones of the other factors, where they would be clicked too often."""
        best = np.array([begin + int(np.argmax(x[begin:end])) for begin, end in pairwise(self.starts.tolist())])
        found = [best]
        for factor, (begin, end) in enumerate(pairwise(self.starts.tolist())):
            over = begin + np.flatnonzero(x[best].sum() - x[best[factor]] + x[begin:end] > 0.0)
            found += [np.where(np.arange(len(best)) == factor, level, best) for level in over]
        return np.array(found)

    def _start(self, tilt: Floats, alive: Bools) -> Floats:
        """Levels in proportion to their click rates."""
        factors = len(self.sizes)
        total = max(float(self.clicked.sum()), 0.5) / max(float(self.shown.sum()), 1.0)
        clicks = np.where(alive, np.maximum(self.level_clicks + tilt, 0.1), 1.0)
        ratio = clicks / np.maximum(self.level_shown, 1.0) / total
        return np.where(alive, np.log(ratio) + np.log(min(total, 0.5)) / factors, -np.inf)

    def _inside(self, x: Floats, levels: Ints) -> Floats:
        """Lower all levels so that no cell's rate reaches 1."""
        highest = x[levels].sum(axis=1).max(initial=-np.inf)
        return x - (highest + _ROOM) / len(self.sizes) if highest > -1e-9 else x

    def _value(self, x: Floats, levels: Ints, clicked: Floats, misses: Floats, tilt: Floats, alive: Bools) -> float:
        eta = x[levels].sum(axis=1)
        if (eta >= 0.0).any():
            return -np.inf
        value = float(clicked @ eta + misses @ np.log(-np.expm1(eta)) + tilt[alive] @ x[alive])
        return value if self.prior is None else value - 0.5 * float(self.prior @ x**2)

    def _newton(
        self, x: Floats, levels: Ints, clicked: Floats, misses: Floats, tilt: Floats, alive: Bools
    ) -> tuple[Floats, float, Floats]:
        free = np.flatnonzero(alive)
        value = self._value(x, levels, clicked, misses, tilt, alive)
        curvature = np.zeros((self.n_levels, self.n_levels))
        for _ in range(_STEPS):
            odds = 1.0 / np.expm1(-x[levels].sum(axis=1))
            gradient = tilt + self._added(levels, clicked - misses * odds)
            curvature = self._products(levels, misses * odds * (1.0 + odds))
            if self.prior is not None:
                gradient -= self.prior * x
                curvature.flat[:: self.n_levels + 1] += self.prior
            inner = curvature[free][:, free]
            inner.flat[:: len(free) + 1] += _RIDGE * inner.diagonal().max(initial=1e-300)
            step = np.zeros(self.n_levels)
            step[free] = np.linalg.solve(inner, gradient[free])
            gain = float(gradient[free] @ step[free])
            if gain < _CLOSE:
                break
            size = 1.0
            for _ in range(_HALVINGS):
                moved = np.where(alive, x + size * step, -np.inf)
                reached = self._value(moved, levels, clicked, misses, tilt, alive)
                if reached >= value + 1e-4 * size * gain:
                    break
                size /= 2.0
            else:
                break
            x, value = moved, reached
        value -= float(tilt[alive] @ x[alive])
        return x, value if self.prior is None else value + 0.5 * float(self.prior @ x**2), curvature

    def _added(self, levels: Ints, numbers: Floats) -> Floats:
        total = np.zeros(self.n_levels)
        for column in levels.T:
            total += np.bincount(column, numbers, self.n_levels)
        return total

    def _products(self, levels: Ints, weights: Floats) -> Floats:
        size = self.n_levels
        total = np.zeros(size * size)
        for first in levels.T:
            for second in levels.T:
                total += np.bincount(first * size + second, weights, size * size)
        return total.reshape(size, size)
