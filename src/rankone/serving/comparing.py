"""Numbers that people decide on: each level against the leading one, the leader against the control, traffic.

All of them need probabilities of the decisions (basis "any"), and all rest on the product model and nothing about time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankone.kernels.evidence import Evidence
from rankone.kernels.steering import comparisons, spared_by_each
from rankone.serving.factors import margins
from rankone.serving.fold import Fold
from rankone.serving.report import Shortfall
from rankone.serving.report_wording import TRAFFIC_ERROR
from rankone.serving.verdict import Ratio, Verdict, ratio_of

_NO_BOUND = 99.0  # intervals go no further than ratios of 100


class Compared(NamedTuple):
    """A ratio with an interval. None: nothing is known yet; ``high`` None: no bound yet."""

    ratio: float | None
    low: float
    high: float | None


def against_leader(fold: Fold, state: Verdict) -> list[list[Compared]]:
    """Return the living levels of each factor against the leading one.

    All these intervals, and those of all other pairs of levels, hold together at all times, but for the error rate: an
    end of one is charged as much of it as the statement that one level beats another. Where the leader is proven
    to beat a level, or there is a winner, the interval is cut at the leader: that rests on those statements, which have
    the error for themselves. So none is wrong unless one of the three is.
    """
    weighing = fold.weighing
    each = 2.0 * weighing.error / max(1, comparisons(weighing.sizes))
    won, enough = state.doubt <= weighing.error, state.enough <= weighing.error
    spared, sides = spared_by_each(fold.settings.margin, len(fold.factors)), []
    most = 1.0 if won else spared if enough else math.inf  # so the verdict says
    for leader, levels in zip(state.leaders, weighing.levels_of_each(), strict=True):
        best = int(levels[leader])
        found = [_ratio(weighing.evidence, int(level), best, each) for level in levels]
        beaten = weighing.evidence.proof[best, levels] >= weighing.beaten_bar
        sides.append([_cut(ratio, min(most, 1.0) if out else most) for ratio, out in zip(found, beaten, strict=True)])
    return sides


def against_control(fold: Fold, state: Verdict) -> Compared | None:
    """Return what leads against the control; None: there is no control.

    Its ratio is the row's times the column's (times those of all factors), by the product model. Each level's ratio to
    the control's is charged its part of the error, since any of them may come to lead.
    """
    if fold.settings.control is None:
        return None
    weighing = fold.weighing
    each = weighing.error / max(1, sum(weighing.sizes) - len(weighing.sizes))
    found = [
        _ratio(weighing.evidence, int(levels[leader]), int(levels[held]), each)
        for leader, levels, held in zip(
            state.leaders, weighing.levels_of_each(), weighing.steering.control, strict=True
        )
    ]
    bounded = max(ratio.high for ratio in found) < _NO_BOUND
    return Compared(
        math.prod(ratio.estimate for ratio in found) if bounded else None,
        math.prod(ratio.low for ratio in found),
        math.prod(ratio.high for ratio in found) if bounded else None,
    )


def shortfalls(fold: Fold) -> list[Shortfall]:
    """Return levels of which too few outcomes came back for what was chosen, the most striking one first.

    The chance that there is ever one, where outcomes of all levels come back alike, is `TRAFFIC_ERROR`.
    """
    weighing, found = fold.weighing, []
    bar = math.log(max(1, comparisons(weighing.sizes)) / TRAFFIC_ERROR)
    named = [(factor, name) for factor, levels in fold.factors.items() for name in levels.names]
    told, asked = margins(fold.pulls), margins(fold.asked)
    shares = told / np.maximum(asked, 1)
    if not weighing.fits:
        return []
    proof = weighing.traffic.proof
    for level in sorted(range(len(named)), key=lambda level: -proof[:, level].max()):
        other = int(np.argmax(proof[:, level]))
        if proof[other, level] >= bar:
            (factor, name), (_, compared) = named[level], named[other]
            side = "column" if factor == "col" else factor
            found.append(Shortfall(side, name, float(shares[level]), compared, float(shares[other])))
    return found


def _ratio(evidence: Evidence, x: int, y: int, error: float) -> Ratio:
    return Ratio(1.0, 1.0, 1.0) if x == y else ratio_of(evidence, x, y, error)


def _cut(ratio: Ratio, most: float) -> Compared:
    """Return a ratio that is at most so large, by what was proven."""
    high, low = min(ratio.high, most), min(ratio.low, most)
    known = low > 0.0 or high < _NO_BOUND
    return Compared(min(ratio.estimate, high) if known else None, low, high if high < _NO_BOUND else None)
