"""Numbers that people decide on: each level against the leading one, the leader against the control, traffic.

All of them need probabilities of the decisions (basis "any"), and all rest on the product model and nothing about time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankone.kernels.evidence import Evidence
from rankone.serving.fold import Fold
from rankone.serving.report import Shortfall
from rankone.serving.report_wording import TRAFFIC_ERROR
from rankone.serving.verdict import Ratio, Verdict, comparisons, ratio_of

_NO_BOUND = 99.0  # intervals go no further than ratios of 100


class Compared(NamedTuple):
    """A ratio with an interval. None: nothing is known yet; ``high`` None: no bound yet."""

    ratio: float | None
    low: float
    high: float | None


def against_leader(fold: Fold, state: Verdict) -> tuple[list[Compared], list[Compared]]:
    """Return the living rows and columns against the leading ones.

    All these intervals, and those of all other pairs of levels, hold together at all times, but for the error rate: an
    end of one is charged as much of it as the statement that one level beats another.
    """
    weighing = fold.weighing
    each = 2.0 * weighing.error / max(1, comparisons(weighing.sizes))
    won, enough = state.doubt <= weighing.error, state.enough <= weighing.error
    most = 1.0 if won else math.sqrt(1.0 + fold.settings.margin) if enough else math.inf  # so the verdict says
    middle, sides = int(weighing.steering.starts[1]), []
    for leader, levels in ((state.row, weighing.live[:middle]), (state.col, weighing.live[middle:])):
        found = [_ratio(weighing.evidence, int(level), int(levels[leader]), each) for level in levels]
        sides.append([_compared(ratio._replace(high=min(ratio.high, most))) for ratio in found])
    return sides[0], sides[1]


def against_control(fold: Fold, state: Verdict) -> Compared | None:
    """Return the leading pair against the control; None: there is no control.

    The pair's ratio is the row's times the column's, by the product model. Each level's ratio to the control's is
    charged its part of the error, since any of them may come to lead.
    """
    if fold.settings.control is None:
        return None
    weighing = fold.weighing
    middle = int(weighing.steering.starts[1])
    each = weighing.error / max(1, sum(weighing.sizes) - 2)
    row, col = (
        _ratio(weighing.evidence, int(levels[leader]), int(levels[held]), each)
        for leader, levels, held in (
            (state.row, weighing.live[:middle], weighing.steering.control[0]),
            (state.col, weighing.live[middle:], weighing.steering.control[1]),
        )
    )
    bounded = max(row.high, col.high) < _NO_BOUND
    return Compared(
        row.estimate * col.estimate if bounded else None,
        row.low * col.low,
        row.high * col.high if bounded else None,
    )


def shortfalls(fold: Fold) -> list[Shortfall]:
    """Return levels of which too few outcomes came back for what was chosen, the most striking one first.

    The chance that there is ever one, where outcomes of all levels come back alike, is `TRAFFIC_ERROR`.
    """
    weighing, found = fold.weighing, []
    bar = math.log(max(1, comparisons(weighing.sizes)) / TRAFFIC_ERROR)
    names = fold.rows.names + fold.cols.names
    told, asked = (np.concatenate([each.sum(axis=1), each.sum(axis=0)]) for each in (fold.pulls, fold.asked))
    shares = told / np.maximum(asked, 1)
    if not weighing.fits:
        return []
    proof = weighing.traffic.proof
    for level in sorted(range(len(names)), key=lambda level: -proof[:, level].max()):
        other = int(np.argmax(proof[:, level]))
        if proof[other, level] >= bar:
            side = "row" if level < weighing.sizes[0] else "column"
            found.append(Shortfall(side, names[level], float(shares[level]), names[other], float(shares[other])))
    return found


def _ratio(evidence: Evidence, x: int, y: int, error: float) -> Ratio:
    return Ratio(1.0, 1.0, 1.0) if x == y else ratio_of(evidence, x, y, error)


def _compared(ratio: Ratio) -> Compared:
    high = ratio.high if ratio.high < _NO_BOUND else None
    known = ratio.low > 0.0 or high is not None
    return Compared(min(ratio.estimate, ratio.high) if known else None, min(ratio.low, ratio.high), high)
