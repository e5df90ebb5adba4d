"""A model of clicks by levels and by what is known of visitors, for logged decisions: `logit-dm` and `logit-dr`.

The logit of the click rate has an intercept, one effect a level, one a feature of the visitor, and one for each feature
with each level: the model of the policy `logit-ts`. It is fitted by Newton's method with normal priors, so a level or a
feature that is rare stays near the average. Effects of levels together are not in it.

An attribute becomes features: a number its distance from the mean, in standard deviations (at most 3, in steps of 0.1);
of two levels one feature, 1/2 or -1/2; of more levels one each. What is not known of a visitor is 0, the average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from rankone.analysis.what_if.off_policy import Estimate, Logged, effective_size, interval, mean_estimate, other_folds
from rankone.errors import InputError
from rankone.numerics.arrays import Floats, Ints
from rankone.specs import amount

UNKNOWN = "unknown"
MOST_LEVELS = 50  # of an attribute
_MOST_EFFECTS = 400
_SPREAD = 1.0, 0.5, 0.3  # standard deviations: of the intercept, an effect, a feature with a level
_STEPS, _BLOCK = 30, 4_096
_BINS, _CLICKS_A_BIN = 10, 20.0


class Visitors(NamedTuple):
    """Visitors by kind: those of whom the same is known."""

    kind: Ints  # (decisions,)
    features: Floats  # (kinds, 1 + d): a 1, and the features


def visitors_of(rows: pl.DataFrame, attributes: Sequence[str]) -> Visitors:
    """Return what is known of the visitors of each decision as features."""
    parts = [_features(rows[name], name) for name in attributes]
    known = np.hstack([np.ones((rows.height, 1)), *parts])
    features, kind = np.unique(known, axis=0, return_inverse=True)
    return Visitors(kind.ravel().astype(np.int64), features)


def usable(rows: pl.DataFrame, attributes: Sequence[str], sizes: Sequence[int], named: bool) -> list[str]:
    """Return the attributes that the model can take; where nobody named them, others are left out."""
    result, effects = list[str](), 1 + sum(sizes)
    for name in attributes:
        try:
            more = _features(rows[name], name).shape[1] * (1 + sum(sizes))
            if effects + more > _MOST_EFFECTS:
                raise InputError(f"a model of at most {_MOST_EFFECTS} effects", f"{effects + more:,}", "name fewer")
        except InputError:
            if named:
                raise
            continue
        effects += more
        result.append(name)
    return result


def _features(column: pl.Series, name: str) -> Floats:
    text = column.cast(pl.String)
    read = text.cast(pl.Float64, strict=False)
    known = (text != UNKNOWN).fill_null(value=False) & ~read.is_nan().fill_null(value=False)
    levels, numbers = text.filter(known).unique().sort().to_list(), read.to_numpy()
    numeric = np.isfinite(numbers)
    if len(levels) > 2 and numeric[known.to_numpy()].all():
        value = np.where(numeric, numbers, np.nan)
        scale = float(np.nanstd(value)) or 1.0
        return np.nan_to_num(np.clip(np.round((value - np.nanmean(value)) / scale, 1), -3.0, 3.0))[:, None]
    if len(levels) > MOST_LEVELS:
        mixed = f", numbers and texts such as '{text.filter(known & ~pl.Series(numeric))[0]}'" if numeric.any() else ""
        do = "group its levels, clean its numbers, or leave it out"
        raise InputError(f"at most {MOST_LEVELS} levels of the attribute '{name}'", f"{len(levels):,}{mixed}", do)
    each = np.stack([(text == level).fill_null(value=False).to_numpy() for level in levels or [UNKNOWN]], axis=1)
    each = each.astype(np.float64)
    return 0.5 * (each[:, :1] - each[:, 1:]) if len(levels) == 2 else each


class Cells(NamedTuple):
    """Decisions added up: each combination with each kind of visitors."""

    kind: Ints
    action: Ints
    features: Floats  # (kinds, 1 + d)
    levels: Floats  # (combinations, 1 + levels): a 1, and 1 where a combination has a level

    def rates(self, weights: Floats) -> Floats:
        """Return the click rate of each cell."""
        return sigmoid(np.einsum("cd,cd->c", self.features[self.kind], (self.levels @ weights.T)[self.action]))


def sigmoid(score: Floats) -> Floats:
    """Return the click rate of scores."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -500.0, 500.0))))


def fit(cells: Cells, shown: Floats, clicked: Floats, start: Floats) -> Floats:
    """Return the most probable effects, (1 + d, 1 + levels), by damped steps of Newton's method from `start`."""
    spread = np.full(start.shape, _SPREAD[2])
    spread[0], spread[:, 0], spread[0, 0] = _SPREAD[1], _SPREAD[1], _SPREAD[0]
    precision, center, weights = spread.ravel() ** -2, np.zeros(start.size), start.copy()
    rate = min(max(float(clicked.sum()) / max(float(shown.sum()), 1.0), 1e-4), 1.0 - 1e-4)
    center[0] = math.log(rate / (1.0 - rate))
    for _ in range(_STEPS):
        rates = cells.rates(weights)
        slope, bend = precision * (center - weights.ravel()), np.diag(precision)
        for first in range(0, len(shown), _BLOCK):
            part = slice(first, first + _BLOCK)
            own = cells.features[cells.kind[part]][:, :, None] * cells.levels[cells.action[part]][:, None, :]
            x = own.reshape(len(own), -1)
            slope += x.T @ (clicked[part] - shown[part] * rates[part])
            bend += x.T @ (x * (shown[part] * rates[part] * (1.0 - rates[part]))[:, None])
        step = np.linalg.solve(bend, slope)
        weights += (step / max(1.0, float(np.abs(step).max()))).reshape(weights.shape)
        if float(step @ bend @ step) < 1e-10:
            break
    return weights


def cross_fitted_visitors(log: Logged, visitors: Visitors, seed: int) -> tuple[Floats, Floats]:
    """Return what a model fitted to other decisions expects of each: of what was shown, and of the target."""
    starts = np.cumsum([0, *log.sizes[:-1]])
    levels = np.zeros((len(log.cells), 1 + sum(log.sizes)))
    levels[:, 0] = 1.0
    np.put_along_axis(levels, 1 + starts + log.cells, 1.0, axis=1)
    both, cell = np.unique(visitors.kind * len(levels) + log.action, return_inverse=True)
    cells = Cells(both // len(levels), both % len(levels), visitors.features, levels)
    cell = cell.ravel()
    fold, shown, clicked = other_folds(cell, log.reward, len(both), seed)
    every, clicks = np.bincount(cell).astype(np.float64), np.bincount(cell, log.reward).astype(np.float64)
    start = fit(cells, every, clicks, np.zeros((visitors.features.shape[1], levels.shape[1])))
    own, target = np.empty(len(log.reward)), np.empty(len(log.reward))
    group, wanted = log.groups(), np.atleast_2d(log.target)
    pairs, pair = np.unique(visitors.kind * len(wanted) + group, return_inverse=True)
    for number, counts in enumerate(zip(shown, clicked, strict=True)):
        weights, here = fit(cells, *counts, start), fold == number
        own[here] = cells.rates(weights)[cell[here]]
        expected = np.zeros(len(pairs))
        for at in np.flatnonzero(wanted.any(axis=0)):
            rates = sigmoid(visitors.features @ (weights @ levels[at]))
            expected += wanted[pairs % len(wanted), at] * rates[pairs // len(wanted)]
        target[here] = expected[pair.ravel()[here]]
    return own, target


def visitor_estimates(log: Logged, shown: Floats, target: Floats) -> list[Estimate]:
    """Return the direct and the doubly robust estimate by the model; of levels never shown there is none."""
    target = np.full(len(log.reward), np.nan) if log.unknown > 0.0 else target
    scores = target + log.weight * (log.reward - shown)
    direct = Estimate("logit-dm", float(target.mean()), np.nan, np.nan)
    return [direct, mean_estimate("logit-dr", scores, effective_size(log.weight))]


def calibration(predicted: Floats, reward: Floats, level: float) -> pl.DataFrame:
    """Return predicted and observed click rates of decisions, from those expected to click least to those most.

    All intervals hold together, as far as the predictions themselves are sure.

    >>> table = calibration(np.repeat([0.1, 0.5], 200), np.tile([1.0, 0.0, 0.0, 0.0], 100), 0.95)
    >>> table.select("decisions", "predicted", "observed").rows()
    [(200, 0.1, 0.25), (200, 0.5, 0.25)]
    """
    order, bins = np.argsort(predicted, kind="stable"), int(min(_BINS, max(1.0, reward.sum() // _CLICKS_A_BIN)))
    edges = np.quantile(predicted, np.arange(1, bins) / bins)
    own, rows = np.searchsorted(edges, predicted[order], side="left"), []
    yes_or_no = bool(np.isin(reward, (0.0, 1.0)).all())
    each = 1.0 - (1.0 - level) / bins
    for number in np.unique(own):
        some = order[own == number]
        observed, n = float(reward[some].mean()), len(some)
        error = float(reward[some].std()) / math.sqrt(n)
        low, high = interval(observed, error, float(n), each, yes_or_no)
        rows.append((n, float(predicted[some].mean()), observed, max(low, 0.0), min(high, 1.0)))
    return pl.DataFrame(rows, schema=["decisions", "predicted", "observed", "low", "high"], orient="row")


def calibration_text(table: pl.DataFrame) -> str:
    """Say where the model is off most, if it is anywhere beyond chance; else nothing."""
    off = table.filter((pl.col("predicted") < pl.col("low")) | (pl.col("predicted") > pl.col("high")))
    if off.is_empty():
        return ""
    worst = off.sort((pl.col("predicted") - pl.col("observed")).abs(), descending=True).row(0, named=True)
    part = (
        f"{amount(worst['decisions'], 'decision')}, expected {worst['predicted']:.3g}, clicked {worst['observed']:.3g}"
    )
    return f"The model of visitors is off: {part}. logit-dm rests on it; logit-dr is wider for it, not wrong."
