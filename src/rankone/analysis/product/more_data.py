"""How many more impressions, split as before, would settle which levels are best if the fitted rates were true.

Intervals shrink with the root of what was shown. A level that may still be the best is out once its distance from the
best one, as fitted, is as many standard errors as its bound asks for, and some more, so that the data may also fall a
little short: enough for all open comparisons together to be settled six times out of ten at least (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from rankone.analysis.product.best import LevelBounds, ratio_contrast
from rankone.analysis.product.intervals import Intervals

_MISSED = 0.4  # share of repetitions in which that many impressions may turn out too few


def impressions_needed(intervals: Intervals, bounds: Sequence[LevelBounds]) -> float:
    """Return how many more impressions are needed; 0 where all is settled, inf where levels tie or were not clicked."""
    design = intervals.design
    still_open = [
        (factor, place)
        for factor, bound in enumerate(bounds)
        for place in range(design.sizes[factor])
        if place != bound.best and bound.high[place] >= 1.0
    ]
    times = 1.0
    for factor, place in still_open:
        start, best = int(design.starts[factor]), bounds[factor].best
        contrast = ratio_contrast(design.n_levels, start + place, start + best)
        wanted = intervals.quantile(contrast, bounds[factor].doubt)
        upper, behind = intervals.upper_at(contrast, wanted), -intervals.value(contrast)
        if not (behind > 1e-9 and math.isfinite(behind) and math.isfinite(upper)):
            return math.inf
        error = (upper + behind) / wanted
        spare = NormalDist().inv_cdf(1.0 - _MISSED / len(still_open))
        times = max(times, ((wanted + spare) * error / behind) ** 2)
    return (times - 1.0) * float(np.sum(design.shown))
