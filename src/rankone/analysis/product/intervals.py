"""Intervals that hold with few clicks too: profile likelihood, with half a click in doubt.

A contrast is a sum of levels' logarithms with signs: one level less another of its factor (a ratio), or one level of
each factor (a click rate). Clicks come in whole numbers; as in the exact interval of a single rate, half a click is
given to what the bound must not miss: the upper end is that of the counts with half a click more for the levels with a
plus and half a click fewer for those with a minus, the lower end the other way round. With no click at all the interval
still ends, at about 3.4 clicks (the exact one: 3.7). Where rates are high the half click counts 1 / (1 - rate) times.

Where days have effects (`rankone.analysis.product.day_effects`), the design's impressions count as on an average day,
and the variance of a contrast is taken to be as many times that of the design as days and levels that scatter make it.
An end is found by searching the tilt of a maximum (`rankone.numerics.product_fit`).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from rankone.analysis.product.day_effects import DayEffects, DayVariance, fit_days
from rankone.clicks.counts.dispersion import Dispersion
from rankone.clicks.counts.factor_counts import FactorCounts
from rankone.numerics.arrays import Floats
from rankone.numerics.product_fit import Design, Maximum, null_space
from rankone.numerics.student import student_quantile

_DOUBT = 0.5  # clicks
_NEAR = 2e-3  # of the signed root: the end of an interval is exact to a thousandth of its width
_SEARCHES, _DOUBLINGS = 60, 60
_MOST_PROFILED = 60  # levels in all


@dataclasses.dataclass(eq=False)
class Intervals:
    """Intervals of contrasts of one design, with its dispersion and the effects of days."""

    design: Design
    dispersion: Dispersion
    days: DayEffects | None = None

    def __post_init__(self) -> None:
        design = self.design
        self.fitted: Maximum = design.maximise()
        # Levels without a click are taken to have half a one where the curvature is asked for.
        silent = design.level_clicks == 0.0
        there = design.maximise(_DOUBT * silent, self.fitted.x) if silent.any() else self.fitted
        self._x, self._inverse = there.x, np.linalg.pinv(there.curvature(), rcond=1e-12, hermitian=True)
        if self.days is None:
            self.by_day = None
            self._null = null_space(design.products(design.levels, np.ones(len(design.levels))))
        else:
            self.by_day = DayVariance(design, self.days, design.rates(self._x), self.dispersion)
            self._null = self.by_day.null

    @classmethod
    def of(cls, counts: FactorCounts, dispersion: Dispersion) -> Intervals:
        """Return the intervals of counts, with an effect of each day where they have days."""
        days = fit_days(counts)
        shown = counts.shown if days is None else days.exposure
        return cls(Design.of(counts.cells, counts.sizes, shown, counts.clicked), dispersion, days)

    def comparable(self, contrast: Floats) -> bool:
        """Whether the cells that were shown tell the contrast at all."""
        levels = contrast if self.by_day is None else self.by_day.reduced(contrast)[:-1]
        return bool(np.abs(levels @ self._null).max(initial=0.0) < 1e-6)

    def _dispersion(self, contrast: Floats) -> float:
        """How many times as large as the design says the variance of a contrast is."""
        if self.by_day is None:
            return self.dispersion.value
        plain = float(contrast @ self._inverse @ contrast)
        return self.by_day.variance(contrast) / plain if plain > 0.0 else self.dispersion.value

    def of_combination(self, cell: int) -> Dispersion:
        """How much the clicks of a combination scatter around its own rate."""
        return self.dispersion if self.by_day is None else self.by_day.of_combination(cell)

    def groups(self, factor: int) -> list[list[int]]:
        """Return the levels of a factor in groups that can be compared within, and not with one another."""
        start, size = int(self.design.starts[factor]), self.design.sizes[factor]
        groups: list[list[int]] = []
        for level in range(size):
            own = self._null[start + level]
            alike = (group for group in groups if np.abs(self._null[start + group[0]] - own).max(initial=0.0) < 1e-6)
            if (group := next(alike, None)) is None:
                groups.append(group := [])
            group.append(level)
        return groups

    def quantile(self, contrast: Floats, doubt: float) -> float:
        """Return how many standard errors a one-sided bound is away that is missed with probability `doubt`."""
        freedom = self.dispersion.freedom
        if self.by_day is not None:
            freedom = min(freedom, self.by_day.freedom(contrast))
        return student_quantile(1.0 - doubt, freedom)

    def value(self, contrast: Floats) -> float:
        """The contrast at the maximum; -inf, inf or NaN where levels have no clicks."""
        with np.errstate(invalid="ignore"):
            used = contrast != 0.0
            return float((contrast[used] * self.fitted.x[used]).sum())

    def upper(self, contrast: Floats, doubt: float) -> float:
        """Return a bound that the contrast exceeds with probability `doubt` at most; inf if the counts allow any."""
        return self.upper_at(contrast, self.quantile(contrast, doubt))

    def upper_at(self, contrast: Floats, wanted: float) -> float:
        """Return the bound so many standard errors away."""
        doubt = _DOUBT / (1.0 - self._typical_rate(contrast))
        largest = float(self.design.level_clicks[contrast < 0.0].min(initial=math.inf)) - doubt
        if largest <= 0.0 or not self.comparable(contrast):
            return math.inf
        path = _Path(self.design, self.fitted.x, contrast, doubt, largest, self._dispersion(contrast))
        return path.end(wanted) if self.profiled else path.contrast_at(0.0) + wanted * path.error

    @property
    def profiled(self) -> bool:
        """Whether the table is small enough for profiles; larger ones get intervals from the curvature."""
        return self.design.n_levels <= _MOST_PROFILED

    def upper_by_curvature(self, factor: int, doubt: float) -> Floats:
        """Bounds of all differences of the levels of a factor at once, from the curvature at the maximum."""
        start, size = int(self.design.starts[factor]), self.design.sizes[factor]
        here = slice(start, start + size)
        by_day, x = self.by_day, self._x[here]
        covariances = (self.dispersion.value * self._inverse,) if by_day is None else by_day.covariances
        inner = [each[here, here] for each in covariances]
        variances = np.max([each.diagonal()[:, None] + each.diagonal() - 2.0 * each for each in inner], axis=0)
        member = (np.arange(self.design.n_levels) == start).astype(np.float64)  # any of the factor's
        upper = x[:, None] - x + self.quantile(member, doubt) * np.sqrt(np.maximum(0.0, variances))
        apart = np.ones((size, size), bool)
        for group in self.groups(factor):
            apart[np.ix_(group, group)] = False
        upper[apart] = math.inf
        np.fill_diagonal(upper, np.nan)
        return np.asarray(upper)

    def lower(self, contrast: Floats, doubt: float) -> float:
        """Return a bound that the contrast falls below with probability `doubt` at most."""
        return -self.upper(-contrast, doubt)

    def _typical_rate(self, contrast: Floats) -> float:
        """Click rate of what the contrast is about, kept off 1."""
        used, design = contrast != 0.0, self.design
        shown = design.level_shown[used]
        if contrast.sum() == 0.0:  # a ratio
            return float(design.level_clicks[used].sum() / (shown.sum() + 1.0))
        rate = math.exp(min(0.0, self.value(np.abs(contrast))))
        return rate * float(shown.min() / (shown.min() + 1.0))


class _Path:
    """The profile of a contrast upwards, from the maximum with the doubted clicks given to it."""

    def __init__(
        self, design: Design, start: Floats, contrast: Floats, doubt: float, largest: float, dispersion: float
    ) -> None:
        self.design, self.contrast, self.largest, self.dispersion = design, contrast, largest, dispersion
        self.doubt = doubt
        self._base = design.maximise(self.doubt * contrast, start)
        self._used = contrast != 0.0
        self._last = self._base
        self._height = self._base.log_likelihood + self.doubt * self._at(self._base)

    def _at(self, maximum: Maximum) -> float:
        return float((self.contrast[self._used] * maximum.x[self._used]).sum())

    def _moved(self, tilt: float) -> Maximum:
        if tilt > 0.0:
            self._last = self.design.maximise((self.doubt + tilt) * self.contrast, self._last.x)
            return self._last
        return self._base

    def contrast_at(self, tilt: float) -> float:
        """The contrast with so many clicks more for it."""
        return self._at(self._moved(tilt))

    def root_at(self, tilt: float) -> float:
        """How far that is from the maximum, in standard errors."""
        there = self._moved(tilt)
        fall = self._height - there.log_likelihood - self.doubt * self._at(there)
        return math.sqrt(max(0.0, 2.0 * fall / self.dispersion))

    @property
    def error(self) -> float:
        """Standard error by the curvature at the maximum."""
        alive = np.flatnonzero(np.isfinite(self._base.x))
        inner, contrast = self._base.curvature()[alive][:, alive], self.contrast[alive]
        inner.flat[:: len(alive) + 1] += 1e-10 * inner.diagonal().max()
        return math.sqrt(max(0.0, float(contrast @ np.linalg.solve(inner, contrast))) * self.dispersion)

    def end(self, wanted: float) -> float:
        """Return the contrast at which the root reaches what is wanted (the last one, if it never does)."""
        low, high, below, above = 0.0, 0.0, -wanted, math.nan
        step = wanted * self.dispersion / max(self.error, 1e-12)
        for _ in range(_DOUBLINGS):
            high = low + step
            if high >= self.largest:
                high = 0.5 * (low + self.largest)
            above = self.root_at(high) - wanted
            if above >= 0.0:
                break
            if high > 1e12 or self.largest - high < 1e-9 * self.largest:
                return self.contrast_at(high)
            low, below, step = high, above, 2.0 * step
        for _ in range(_SEARCHES):
            middle = low - below * (high - low) / (above - below)
            beyond = self.root_at(middle) - wanted
            if abs(beyond) < _NEAR:
                return self.contrast_at(middle)
            if beyond < 0.0:
                low, below, above = middle, beyond, above / 2.0
            else:
                high, above, below = middle, beyond, below / 2.0
        return self.contrast_at(high)
