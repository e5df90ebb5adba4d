"""How levels of a factor compare, by what clicks say: ratios of two with an interval, and one estimate for each level.

Each two levels have a likelihood of their ratio (`rankone.evidence.levels`), and its intervals hold at all times. But
estimates that are made two by two need not fit together: A may look better than B, B than C and C than A. So
`level_scores` makes one number for each level from all of them: who has the highest is ahead of all in every table.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.levels import Evidence
from rankone.numerics.arrays import Floats

LOG_RATIOS = np.linspace(-math.log(100.0), math.log(100.0), 922)  # log ratios at which intervals may end, 1% apart
NO_BOUND = 99.0  # intervals go no further than ratios of 100
_PRIOR = 1.0 / math.log(2.0) ** 2  # of a log ratio: levels that differ by more than a factor of two are rare
_COUNTED = (
    5.0  # precision that plain counts may lend to a log ratio, whatever the rates: as of ten clicks on either level
)


class Counted(NamedTuple):
    """What plain counts say of the levels of a factor, by the product model."""

    logs: Floats  # (levels,) the log of what each changes clicks by
    clicks: Floats  # (levels,)
    outcomes: Floats  # (levels,)


class Scores(NamedTuple):
    """The levels of a factor, each with one number."""

    logs: Floats  # (levels,) the log of what each changes clicks by; only differences mean something
    clicks: Floats  # (levels, levels) how well two are compared: as by so many clicks on either of them


def level_scores(evidence: Evidence, levels: Any, counted: Counted | None = None) -> Scores:
    """Return the present estimates of some levels of a factor.

    The log ratio of each two is where the likelihood of clicks is highest, drawn a little towards 0; the numbers are
    those that fit all of these best: least squares, weighted by how much is known of each two. Silence has no part in
    them: it tells who is better, and not by how much.

    Where a policy leaves little to chance, few clicks compare two levels, and one lucky click on a level that is hardly
    ever shown would let it lead. There plain `counted` clicks decide, which hold while rates stay as they are; they
    weigh no more than ten clicks that compare. Where nearly all visitors click, clicks say little and counts much: no
    site makes a rate more than 100%, so a count of 95% is at most 5% too low, whenever the level was shown.

    >>> import numpy as np
    >>> from rankone.evidence.levels import start_evidence
    >>> scores = level_scores(start_evidence((2, 1)), np.array([0, 1]))
    >>> scores.logs.tolist(), bool(scores.clicks[0, 1] < 10)
    ([0.0, 0.0], True)
    """
    n, grid, among = len(levels), np.log(evidence.ratios), np.ix_(levels, levels)
    points, up = np.concatenate([-grid[::-1], [0.0], grid]), evidence.logs[among]
    curves = np.concatenate([up.swapaxes(0, 1)[..., ::-1], np.zeros((n, n, 1)), up], axis=2)
    towards, lent = _by_counts(counted, n)
    prior = lent + _PRIOR
    apart, known = peaks(points, curves - 0.5 * prior[..., None] * (points - (lent * towards / prior)[..., None]) ** 2)
    known = np.where(np.eye(n, dtype=bool), 0.0, np.maximum(known, prior))
    inverse = _inverse(known)
    compared = inverse if counted is None else _inverse(known - np.where(np.eye(n, dtype=bool), 0.0, lent))
    spread = np.diag(compared)[:, None] + np.diag(compared) - 2.0 * compared
    with np.errstate(divide="ignore"):
        # n clicks on either of two levels leave a variance of 2 / n; a click counts for each of the other levels.
        clicks = np.where(np.eye(n, dtype=bool), np.inf, 2.0 * 2.0 / (n * np.maximum(spread, 1e-300)))
    return Scores(inverse @ (known * apart).sum(axis=1), clicks)


def _inverse(known: Floats) -> Floats:
    """Return the covariance of numbers whose differences are known so precisely, and whose mean is 0."""
    return np.asarray(np.linalg.inv(np.diag(known.sum(axis=1)) - known + 1.0 / len(known)))


def _by_counts(counted: Counted | None, n: int) -> tuple[Floats, Floats]:
    """Return the log ratio of each two levels by counts, and how precise that is taken to be."""
    if counted is None:
        return np.zeros((n, n)), np.zeros((n, n))
    silent = 1.0 - counted.clicks / (counted.outcomes + 1.0)
    variances, apart = silent / (counted.clicks + 0.5), silent**2
    precision = 1.0 / (variances[:, None] + variances)
    most = np.maximum(_COUNTED, 1.0 / (apart[:, None] + apart))
    return counted.logs[:, None] - counted.logs, np.minimum(precision, most)


class Ratio(NamedTuple):
    """How a level compares with another: this many times its clicks."""

    estimate: float
    low: float
    high: float


def ratio_of(evidence: Evidence, x: int, y: int, error: float) -> Ratio:
    """Return the ratio of two levels of a factor with an interval that holds at all times with probability 1 - error.

    It rests on clicks alone: silence tells who is better, and not by how much. An end of the interval is where the
    evidence against all ratios beyond reaches 2 / error. Between the ratios of the grid the log-likelihood, which is
    concave, is at most what the lines through neighbouring points say; that bound is used, so the interval is never too
    short.
    """
    points, logs = likelihood(evidence, x, y)
    at = upper_bound(points, logs, LOG_RATIOS)
    bar = math.log(2.0 / error)
    below = _mean_beyond(points, logs, LOG_RATIOS) - at >= bar  # all ratios up to here are rejected
    above = _mean_beyond(-points[::-1], logs[::-1], -LOG_RATIOS) - at >= bar
    indices = np.flatnonzero(~below & ~above)  # an end lies between the last that is kept and the next
    kept = (
        LOG_RATIOS[[max(0, indices[0] - 1), min(len(LOG_RATIOS) - 1, indices[-1] + 1)]] if len(indices) else np.empty(0)
    )
    best = peak(points, logs)
    low, high = (math.exp(kept[0]), math.exp(kept[-1])) if len(kept) else (math.exp(best), math.exp(best))
    return Ratio(min(max(math.exp(best), low), high), 0.0 if low <= math.exp(LOG_RATIOS[0]) else low, high)


def log_excess(evidence: Evidence, clicks: Sequence[float], x: int, y: int, w: int, v: int) -> float:
    """Return the log evidence that x has more clicks for each of y than w, of another factor, has for each of v.

    That is: x with v beats y with w. It holds where x with w, or y with v, is never shown (`docs/proofs.md`). `clicks`
    are those that compare x with y, and w with v.
    """
    points, more = likelihood(evidence, x, y)
    less = likelihood(evidence, w, v)[1]
    bends = [gap_bends(points, logs, compared) for logs, compared in zip((more, less), clicks, strict=True)]
    above = _mean_beyond(*_finer(points, more, bends[0][0]), LOG_RATIOS)
    above -= upper_bound(points, more, LOG_RATIOS, bends[0][1])
    finer, lower = _finer(points, less, bends[1][0])
    below = _mean_beyond(-finer[::-1], lower[::-1], -LOG_RATIOS) - upper_bound(points, less, LOG_RATIOS, bends[1][1])
    above, below = (np.logaddexp(0.0, each) - math.log(2.0) for each in (above, below))
    # Whatever both ratios are, the first at most the second: between two points of the range, the worse of them counts.
    return float((np.minimum.accumulate(above)[1:] + np.minimum.accumulate(below[::-1])[::-1][:-1]).min())


def likelihood(evidence: Evidence, x: int, y: int) -> tuple[Floats, Floats]:
    """Return log ratios of two levels, rising, and the log-likelihood of each, by clicks, against that of 0."""
    grid = np.log(evidence.ratios)
    points = np.concatenate([-grid[::-1], [0.0], grid])
    return points, np.concatenate([evidence.logs[y, x, ::-1], [0.0], evidence.logs[x, y]])


def peak(points: Floats, logs: Floats) -> float:
    """Return where a parabola through the highest point and its neighbours is highest."""
    return float(peaks(points, logs)[0])


def peaks(points: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Return where each of some curves (along the last axis) is highest, and how much it bends there: the precision."""
    best = np.argmax(logs, axis=-1)
    inner = np.clip(best, 1, len(points) - 2)
    low, top, high = (np.take_along_axis(logs, (inner + step)[..., None], -1)[..., 0] for step in (-1, 0, 1))
    near, far = points[inner] - points[inner - 1], points[inner + 1] - points[inner]
    left, right = top - low, top - high
    bend = near * right + far * left
    shift = np.divide(0.5 * (near**2 * right - far**2 * left), bend, out=np.zeros_like(bend), where=bend > 0.0)
    at = np.where(best == inner, points[inner] - shift, points[best])
    return at, 2.0 * bend / (near * far * (near + far))


def gap_bends(points: Floats, logs: Floats, clicks: float) -> tuple[Floats, Floats]:
    """Return between which bounds the log-likelihood of so many clicks bends, from each point to the next.

    The proof: `docs/proofs.md`.
    """
    gaps = np.diff(points)
    left, right = gaps[:-1], gaps[1:]
    average = np.maximum(-2.0 * np.diff(np.diff(logs) / gaps) / (left + right), 0.0)
    middle = (left**2 + right**2) / (3.0 * (left + right)), np.maximum(left, right)
    least, most = np.zeros(len(gaps)), np.full(len(gaps), 0.25 * clicks)
    for gap, mean in ((slice(None, -1), (2.0 * left + right) / 3.0), (slice(1, None), (left + 2.0 * right) / 3.0)):
        times = [1.0 + far * np.expm1(longest) / longest for far, longest in (middle, (mean, left + right))]
        least[gap] = np.maximum(least[gap], average / np.maximum(*times))
        most[gap] = np.minimum(most[gap], average * np.exp(np.maximum(middle[0], mean)))
    return np.minimum(least, most), most


def _finer(points: Floats, logs: Floats, bends: Floats) -> tuple[Floats, Floats]:
    """Return points four times as close, and at each a lower bound of a function that bends at least so much."""
    steps, gaps = np.arange(4) / 4.0, np.diff(points)[:, None]
    finer = points[:-1, None] + steps * gaps
    lower = logs[:-1, None] + steps * np.diff(logs)[:, None] + 0.5 * bends[:, None] * steps * (1.0 - steps) * gaps**2
    return np.append(finer, points[-1]), np.append(lower, logs[-1])


def upper_bound(points: Floats, logs: Floats, at: Floats, bends: Floats | None = None) -> Floats:
    """Return an upper bound, at each place, of a concave function that is known at some points.

    It bends by at most `bends` between each two of them, so it is at most that far above the line between them.
    """
    slopes = np.diff(logs) / np.diff(points)
    right = np.searchsorted(points, at)  # the first point at or above
    result = np.full(len(at), np.inf)
    before = right >= 2  # the line through the two points below, prolonged
    index = np.clip(right, 2, len(points) - 1 + 1)
    result[before] = (logs[index - 1] + slopes[index - 2] * (at - points[index - 1]))[before]
    after = right <= len(points) - 2
    index = np.clip(right, 0, len(points) - 2)
    result = np.minimum(result, np.where(after, logs[index] - slopes[index] * (points[index] - at), np.inf))
    if bends is None:
        return result
    left = np.clip(right - 1, 0, len(points) - 2)
    line = logs[left] + slopes[left] * (at - points[left])
    within = (right > 0) & (right < len(points))
    bent = line + 0.5 * bends[left] * (at - points[left]) * (points[left + 1] - at)
    return np.asarray(np.where(within, np.minimum(result, bent), result))


def _mean_beyond(points: Floats, logs: Floats, at: Floats) -> Floats:
    """Return the log of the average likelihood of the points above each place; minus infinity where there is none."""
    most = logs.max()
    sums = np.concatenate([np.cumsum(np.exp(logs - most)[::-1])[::-1], [0.0]])
    first = np.searchsorted(points, at, side="right")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums[first]) + most - np.log(np.maximum(1, len(points) - first)))
