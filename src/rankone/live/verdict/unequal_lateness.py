"""Do clicks of some level come too late to count more often than those of another?

If being late does not depend on the level, late clicks choose between two levels with the same ratio as those in time.
So the test is of "one ratio" against "two" (`docs/proofs.md`). Between the points of the grid the upper bound of
`rankone.live.evidence.ratios` is used.
"""

from typing import NamedTuple

import numpy as np

from rankone.evidence.levels import Evidence
from rankone.live.evidence.ratios import LOG_RATIOS, likelihood, peak, upper_bound
from rankone.numerics.arrays import Floats


class Late(NamedTuple):
    """A level whose clicks come late more often than those of another, numbered factor after factor."""

    level: int
    other: int
    log_evidence: float


def late_levels(evidence: Evidence, late: Evidence, bar: float) -> list[Late]:
    """Return the levels of which more clicks are late than of another, each beside the one with most evidence.

    `bar` is the log evidence that each two levels need.
    """
    result: dict[int, Late] = {}
    for first, end in zip(late.starts[:-1].tolist(), late.starts[1:].tolist(), strict=True):
        own = slice(first, end)
        in_time, too_late = (_on_grid(each.logs[own, own]) for each in (evidence, late))
        most = in_time.max(axis=2) + too_late.max(axis=2) - (in_time + too_late).max(axis=2)  # it cannot be more
        for x, y in np.argwhere(most >= bar) + first:
            one = _compared(evidence, late, int(x), int(y)) if x < y else None
            if one is not None and one.log_evidence >= max(bar, result.get(one.level, one).log_evidence):
                result[one.level] = one
    return sorted(result.values(), key=lambda each: -each.log_evidence)


def _on_grid(logs: Floats) -> Floats:
    """Return the log-likelihood of each ratio of each two levels, (x, y, ratios): those below 1, 1, those above."""
    below, one = logs.transpose(1, 0, 2)[:, :, ::-1], np.zeros((*logs.shape[:2], 1))
    return np.concatenate([below, one, logs], axis=2)


def _compared(evidence: Evidence, late: Evidence, x: int, y: int) -> Late:
    """Return the evidence that clicks of x and y do not come late equally often, and whose do more often."""
    points, in_time = likelihood(evidence, x, y)
    _, too_late = likelihood(late, x, y)
    one_ratio = upper_bound(points, in_time, LOG_RATIOS) + upper_bound(points, too_late, LOG_RATIOS)
    two_ratios = sum(float(np.logaddexp.reduce(each)) - np.log(len(points)) for each in (in_time, too_late))
    ahead = peak(points, too_late) > peak(points, in_time)
    return Late(*((x, y) if ahead else (y, x)), two_ratios - float(one_ratio.max()))
