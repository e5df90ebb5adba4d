"""Estimates as a table with intervals, and which of them a log is too thin for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import polars as pl

from rankone.analysis.what_if.off_policy import Estimate
from rankone.notebook import Shown
from rankone.numerics.student import student_quantile

LEAST = 30.0  # effective decisions
_COLUMNS = ("estimator", "value", "se", "low", "high", "effective")


@dataclasses.dataclass(frozen=True, repr=False)
class Estimated(Shown):
    """Estimates of what a target would have earned, and whether the log can say."""

    table: pl.DataFrame  # estimator, value, se, low, high, effective; empty where the log cannot say

    @property
    def answered(self) -> bool:
        """Whether there is enough in the log to say anything."""
        return not self.table.is_empty()

    def _tables(self) -> dict[str, Any]:
        return {"estimates": self.table} if self.answered else {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "table"}
        return values | {"answered": self.answered, "estimates": self.table.to_dicts()}


def interval(value: float, se: float, effective: float, level: float, yes_or_no: bool) -> tuple[float, float]:
    """Return an interval around an estimate: value and standard errors, as wide as few decisions need it.

    With few clicks both the estimate and its standard error are small together, and a normal interval ends too low.
    Wilson's, for as many decisions as the estimate is worth, does not; it is for outcomes that are yes or no. There the
    wider of the two is taken on either side; else Student's quantile for as many decisions.

    >>> [round(end, 3) for end in interval(0.05, 0.02, 40.0, 0.95, yes_or_no=True)]
    [0.011, 0.165]
    >>> [round(end, 3) for end in interval(0.05, 0.02, 40.0, 0.95, yes_or_no=False)]
    [0.01, 0.09]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    if not yes_or_no:
        z = student_quantile(0.5 + level / 2.0, effective - 1.0) if effective > 1.0 else z
        return value - z * se, value + z * se
    low, high = value - z * se, value + z * se
    if effective > 0.0 and math.isfinite(low):
        rate, part = min(max(value, 0.0), 1.0), z * z / effective
        middle = (rate + part / 2.0) / (1.0 + part)
        reach = math.sqrt(part * (rate * (1.0 - rate) + part / 4.0)) / (1.0 + part)
        low, high = min(low, middle - reach), max(high, middle + reach)
    return low, high


def estimate_table(found: Sequence[Estimate], level: float, yes_or_no: bool, most: float = 1.0) -> pl.DataFrame:
    """Return estimates with intervals that stay between 0 and `most`; those worth too little are empty."""
    rows = []
    for each in found:
        low, high = interval(each.value, each.se, each.effective, level, yes_or_no)
        low, high = (min(max(end, 0.0), most) for end in (low, high))  # an estimate may lie outside, its interval not
        rows.append((each.estimator, each.value, each.se, low, high, each.effective))
    table = pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.Float64) | {"estimator": pl.String}, orient="row")
    table = table.with_columns(pl.when(pl.col("se").is_not_nan()).then(pl.col("low", "high"))).fill_nan(None)
    thin = pl.col("effective").fill_null(math.inf) < LEAST
    return table.with_columns(pl.when(~thin).then(pl.col("value", "se", "low", "high")))
