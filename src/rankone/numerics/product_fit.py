"""The likeliest product of levels, for any number of factors: P(click) = product over factors of the level's value.

With x the logarithm of the values, a cell with n impressions and c clicks has the log-likelihood
c eta + (n - c) log(1 - exp(eta)), eta the sum of its levels' x: concave wherever eta < 0, so damped Newton steps find
the maximum. The largest factor's block of the curvature is diagonal and eliminated first.

Values are probabilities: no combination may have eta > 0, whether it was shown or not. So cells with nothing but clicks
have a barrier of a few misses, fewer with each step, and steps take the odds of a click for unknowns of their own
(interior points: Nocedal and Wright, "Numerical optimization", 2006, chapter 19). Combinations that were never shown
and break the bound join as such cells.

A `tilt` adds tilt . x to the log-likelihood, which is to add so many clicks to levels: it moves the maximum along the
profile of any contrast (`rankone.analysis.product.intervals`).
"""

import dataclasses
import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from rankone.numerics.arrays import Floats, Ints, Mask, starts_of

_FIRST_BARRIER = 0.1
_BARRIER = 1e-6  # misses of a cell that has none: keeps the rate below 1, by a millionth of a click
_STEPS, _HALVINGS, _CUTS = 200, 60, 200
_CLOSE = 1e-10  # of the log-likelihood
_RIDGE = 1e-10  # of a level's curvature; scales that only the convention fixes stay where they are
_ROOM = 0.05
_NO_CLICK = -700.0  # x of a level without a click while the others climb


class Maximum(NamedTuple):
    """Where the tilted log-likelihood is largest."""

    x: Floats  # (levels,), -inf for levels without a click
    log_likelihood: float  # without the tilt
    curvature: Callable[[], Floats]  # (levels, levels), minus the second derivatives; zero for levels at -inf


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
        self.starts = starts_of(self.sizes)
        self._cuts = np.zeros((0, len(self.sizes)), np.int64)
        self.level_clicks = _added(self.levels, self.clicked[None], self.n_levels)[0]
        self.level_shown = _added(self.levels, self.shown[None], self.n_levels)[0]

    @classmethod
    def of(cls, cells: Ints, sizes: tuple[int, ...], shown: object, clicked: object) -> Self:
        """Return the design of cells whose levels are numbered in each factor from 0."""
        return cls(cells + starts_of(sizes)[:-1], sizes, np.asarray(shown, np.float64), np.asarray(clicked, np.float64))

    def rates(self, x: Floats) -> Floats:
        """Click rates of the cells."""
        return np.exp(x[self.levels].sum(axis=1))

    def maximise(self, tilt: Floats | None = None, start: Floats | None = None) -> Maximum:
        """Return the maximum of the log-likelihood plus tilt . x; a level without clicks goes to -inf."""
        tilt = np.zeros(self.n_levels) if tilt is None else tilt
        tables = self.shown[None], self.clicked[None], tilt[None]
        x, climb, self._cuts = _maximise(
            self.levels, self.sizes, *tables, None if start is None else start[None], self.prior, self._cuts
        )
        return Maximum(
            np.where(climb.alive, x, -np.inf)[0],
            float(climb.log_likelihood(climb.top)[0]),
            functools.partial(self._curvature, climb),
        )

    def _curvature(self, climb: "_Climb") -> Floats:
        result = self.products(climb.levels, climb.weights()[0])
        if self.prior is not None:
            result.flat[:: self.n_levels + 1] += self.prior
        return result

    def products(self, levels: Ints, weights: Floats) -> Floats:
        """Sums of weights (levels, levels) of the rows in which both come."""
        size = self.n_levels
        total = np.zeros(size * size)
        for first in levels.T:
            for second in levels.T:
                total += np.bincount(first * size + second, weights, size * size)
        return total.reshape(size, size)


def product_rates(cells: Ints, sizes: tuple[int, ...], shown: Ints, clicked: Ints) -> Floats:
    """Return the likeliest rates (tables, cells) of many tables of the same cells, each with counts of its own.

    A level without outcomes could have any value; it gets the average one.

    >>> cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> product_rates(cells, (2, 2), np.full((1, 4), 1000), np.array([[400, 100, 200, 50]])).round(4).tolist()
    [[0.4, 0.1, 0.2, 0.05]]
    """
    starts = starts_of(sizes)
    levels, counts = cells + starts[:-1], (np.asarray(shown, np.float64), np.asarray(clicked, np.float64))
    x, climb, _ = _maximise(levels, sizes, *counts, np.zeros((len(counts[0]), int(starts[-1]))))
    values = np.where(climb.alive, np.exp(x), 0.0)
    seen = _added(levels, counts[0], int(starts[-1])) > 0.0
    for begin, end in pairwise(starts.tolist()):
        own, used = values[:, begin:end], seen[:, begin:end]
        average = np.where(used, own, 0.0).sum(axis=1) / np.maximum(used.sum(axis=1), 1)
        values[:, begin:end] = np.where(used, own, average[:, None])
    return np.minimum(np.prod(values[:, levels], axis=2), 1.0)


def _maximise(
    levels: Ints,
    sizes: tuple[int, ...],
    shown: Floats,
    clicked: Floats,
    tilt: Floats,
    start: Floats | None = None,
    prior: Floats | None = None,
    cuts: Ints | None = None,
) -> tuple[Floats, "_Climb", Ints]:
    """Return x (tables, levels) at the maximum, how it was found, and cells that keep combinations below 1."""
    starts = starts_of(sizes)
    level_clicks, level_shown = (_added(levels, each, int(starts[-1])) for each in (clicked, shown))
    alive: Mask = (level_clicks + tilt > 0.0) | (prior is not None)
    cuts = np.zeros((0, len(sizes)), np.int64) if cuts is None else cuts
    x = start
    if x is None or not np.isfinite(x[alive]).all():  # levels in proportion to their click rates
        total = np.maximum(clicked.sum(axis=1), 0.5) / np.maximum(shown.sum(axis=1), 1.0)
        clicks = np.where(alive, np.maximum(level_clicks + tilt, 0.1), 1.0)
        ratio = clicks / np.maximum(level_shown, 1.0) / total[:, None]
        x = np.log(ratio) + np.log(np.minimum(total, 0.5))[:, None] / len(sizes)
    x = np.where(alive, x, _NO_CLICK)
    for _ in range(_CUTS):
        cells, extra = np.concatenate([levels, cuts]), np.zeros((len(shown), len(cuts)))
        climb = _Climb(
            cells, sizes, np.hstack([clicked, extra]), np.hstack([shown - clicked, extra]), tilt, alive, prior
        )
        highest = climb.eta(x).max(axis=1, initial=-np.inf)  # lowered so that no cell's rate reaches 1
        x = np.where(alive, x - np.where(highest > -1e-9, highest + _ROOM, 0.0)[:, None] / len(sizes), _NO_CLICK)
        x = climb.to_the_top(x)
        above = np.maximum.reduceat(x, starts[:-1], axis=1).sum(axis=1) > 0.0
        if prior is not None or not above.any():
            break
        cuts = np.unique(np.concatenate([cuts, *(_above_one(each, starts) for each in x[above])]), axis=0)
    return x, climb, cuts


def _above_one(x: Floats, starts: Ints) -> Ints:
    """Combinations of each level with the best ones of the other factors, where they would be clicked too often."""
    best = np.array([begin + int(np.argmax(x[begin:end])) for begin, end in pairwise(starts.tolist())])
    result = [best]
    for factor, (begin, end) in enumerate(pairwise(starts.tolist())):
        over = begin + np.flatnonzero(x[best].sum() - x[best[factor]] + x[begin:end] > 0.0)
        result += [np.where(np.arange(len(best)) == factor, level, best) for level in over]
    return np.array(result)


def _sums(index: Ints, numbers: Floats, size: int) -> Floats:
    """Sums (tables, size) of numbers (tables, rows) with the same index."""
    tables = len(numbers)
    total = np.bincount((index + size * np.arange(tables)[:, None]).ravel(), numbers.ravel(), tables * size)
    return np.asarray(total, np.float64).reshape(tables, size)


def _added(levels: Ints, numbers: Floats, size: int) -> Floats:
    """Sums (tables, levels) of numbers (tables, cells) of the cells in which a level comes."""
    return np.asarray(sum(_sums(column, numbers, size) for column in levels.T))


def _odds(eta: Floats) -> Floats:
    return np.asarray(1.0 / np.expm1(np.minimum(-eta, -_NO_CLICK)))


class _Climb:
    """Newton's way to the maximum of some tables (tables, cells)."""

    def __init__(
        self,
        levels: Ints,
        sizes: tuple[int, ...],
        clicked: Floats,
        misses: Floats,
        tilt: Floats,
        alive: Mask,
        prior: Floats | None,
    ) -> None:
        self.levels, self.alive, self._n_levels = levels, alive, sum(sizes)
        on = alive[:, levels].all(axis=2)  # cells all of whose levels have clicks
        self._clicked, self._misses = np.where(on, clicked, 0.0), np.where(on, misses, 0.0)
        self._whole = on & (misses == 0.0)  # nothing but clicks
        self._tilt, self._prior = np.where(alive, tilt, 0.0), np.zeros(self._n_levels) if prior is None else prior
        largest = int(np.argmax(sizes))
        begin = sum(sizes[:largest])
        self._own, self._rest = slice(begin, begin + sizes[largest]), self._n_levels - sizes[largest]
        self._kept = np.delete(np.arange(self._n_levels), self._own)
        others = np.delete(levels, largest, axis=1)
        self._others = np.where(others < begin, others, others - sizes[largest]).T  # numbered without it
        self._first = (levels[:, largest] - begin) * self._rest
        self.top = np.zeros(clicked.shape)  # eta at the maximum, once it is found

    def log_likelihood(self, eta: Floats, barrier: float = _BARRIER) -> Floats:
        """Return it for each table, without tilt and prior; -inf where a rate is not below 1."""
        below = np.log(-np.expm1(np.minimum(eta, -1e-300)))
        result = (self._clicked * eta + (self._misses + barrier * self._whole) * below).sum(axis=1)
        return np.where(eta.max(axis=1, initial=-1.0) >= 0.0, -np.inf, result)

    def weights(self) -> Floats:
        """Return what each cell adds to the curvature at the top."""
        odds = _odds(self.top)
        return np.asarray((self._misses + _BARRIER * self._whole) * odds * (1.0 + odds))

    def eta(self, x: Floats) -> Floats:
        """Return the logarithms of the cells' rates."""
        return np.asarray(sum(x[:, column] for column in self.levels.T))

    def to_the_top(self, x: Floats) -> Floats:
        """Return where the maximum is, from a start at which all rates are below 1."""
        barrier = _FIRST_BARRIER if self._whole.any() else _BARRIER
        eta = self.eta(x)
        odds = _odds(eta)
        duals = (self._misses + barrier * self._whole) * odds
        still: Mask = np.zeros(len(x), bool)
        for _ in range(_STEPS):
            wanted = (self._misses + barrier * self._whole) * odds
            gradient = self._tilt + _added(self.levels, self._clicked - wanted, self._n_levels) - self._prior * x
            gradient = np.where(self.alive, gradient, 0.0)
            step = self._step(gradient, duals * (1.0 + odds))
            gain, along = (gradient * step).sum(axis=1), self.eta(step)
            if barrier == _BARRIER:
                still |= gain < _CLOSE
                if still.all():
                    break
            size = self._size(x, step, eta, along, np.where(still, 0.0, gain), barrier)
            if barrier == _BARRIER:
                still |= size == 0.0
            moved = wanted - duals + duals * (1.0 + odds) * along
            most = np.where(moved < -0.99 * duals, -0.99 * duals / np.minimum(moved, -0.99 * duals - 1e-300), 1.0)
            duals = duals + moved * most.min(axis=1, initial=1.0)[:, None]
            x, eta = x + size[:, None] * step, eta + size[:, None] * along
            odds = _odds(eta)
            barrier = max(_BARRIER, min(0.1 * barrier, barrier**1.5))
        self.top = eta
        return x

    def _size(self, x: Floats, step: Floats, eta: Floats, along: Floats, gain: Floats, barrier: float) -> Floats:
        """Return how much of each step to take so that the value grows; 0: none of it."""
        size, value = np.where(gain > 0.0, 1.0, 0.0), self._value(x, eta, barrier)
        for _ in range(_HALVINGS):
            part = size[:, None]
            short = self._value(x + part * step, eta + part * along, barrier) < value + 1e-4 * size * gain
            if not short.any():
                return size
            size = np.where(short, size / 2.0, size)
        return np.where(short, 0.0, size)

    def _value(self, x: Floats, eta: Floats, barrier: float) -> Floats:
        tilted = ((self._tilt - 0.5 * self._prior * x) * x).sum(axis=1)
        return np.asarray(self.log_likelihood(eta, barrier) + tilted)

    def _step(self, gradient: Floats, weights: Floats) -> Floats:
        """Return the inverse of the curvature times the gradient, the largest factor eliminated."""
        diagonal = (_added(self.levels, weights, self._n_levels) + self._prior) * (1.0 + _RIDGE) + 1e-200
        own, rest = diagonal[:, self._own], diagonal[:, self._kept]
        size = self._rest
        border: Floats = np.zeros((len(weights), own.shape[1] * size))
        inner: Floats = np.zeros((len(weights), size * size))
        for number, column in enumerate(self._others):
            border += _sums(self._first + column, weights, border.shape[1])
            for other in self._others[:number]:
                inner += _sums(column * size + other, weights, size * size)
        border, inner = border.reshape(*own.shape, size), inner.reshape(len(weights), size, size)
        inner = inner + inner.transpose(0, 2, 1)
        inner[:, np.arange(size), np.arange(size)] += rest
        slopes = border / own[:, :, None]
        first, others = gradient[:, self._own], gradient[:, self._kept]
        left = np.linalg.solve(
            inner - border.transpose(0, 2, 1) @ slopes, (others - (first[:, None] @ slopes)[:, 0])[:, :, None]
        )[:, :, 0]
        step = np.empty_like(gradient)
        step[:, self._kept], step[:, self._own] = left, first / own - (slopes @ left[:, :, None])[:, :, 0]
        return step


def null_space(gram: Floats) -> Floats:
    """Directions that a Gram matrix tells nothing of, as columns."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, values < 1e-9 * max(1.0, values.max())])


def deviances(shown: Any, clicked: Any, rates: Floats) -> Floats:
    """Return twice the log-likelihood that each cell gains by a rate of its own: 2 n d(clicked / n, rate).

    >>> deviances(np.array([10, 10]), np.array([5, 0]), np.array([0.5, 0.5])).round(3).tolist()
    [0.0, 13.863]
    """
    misses = shown - clicked
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(clicked > 0, clicked * np.log(clicked / (shown * rates)), 0.0)
        gain += np.where(misses > 0, misses * np.log(misses / (shown * (1.0 - rates))), 0.0)
    return np.asarray(2.0 * np.maximum(gain, 0.0))
