"""Does what is best depend on the segment? One error for everything that is said about segments (`docs/proofs.md`).

Statements that one level beats another in a segment share the error; all else follows from them by logic: a level is
the best in a segment if it beats all others there; the best level *depends* on the segment if every level is beaten in
some segment; it is the *same* if the same level is the best in every segment.

Estimates are shrunken: with few clicks a segment's own ratio says little. They carry no promise.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rankone.evidence.levels import Evidence
from rankone.evidence.steering import comparisons
from rankone.live.evidence.ratios import likelihood, peaks
from rankone.live.evidence.segments import Segments
from rankone.numerics.arrays import Floats

_PARTS = ((8, 2), (16, 4), (40, 4))  # so many segments, in the order they come, share one over this of the error
_WIDE = 5.0  # times: ratios of two segments that differ by more are rare


def part_of(number: int) -> float:
    """Return the part of the error that a segment may use, by its number.

    >>> [part_of(number) for number in (0, 7, 8, 63)], round(sum(map(part_of, range(64))), 9)
    ([0.0625, 0.0625, 0.015625, 0.00625], 1.0)
    """
    for count, share in _PARTS:
        if number < count:
            return 1.0 / (count * share)
        number -= count
    return 0.0


class Statement(NamedTuple):
    """In a segment a level beats another of the same factor, all as numbers; levels are counted factor after factor."""

    segment: int
    better: int
    worse: int


class SegmentVerdict(NamedTuple):
    """What is proven about segments."""

    statements: list[Statement]
    depends: list[bool]  # for each factor, whether no level of it is the best in all segments
    best: list[list[int | None]]  # for each segment and factor, the level that is proven the best there


def segment_verdict(segments: Segments, levels_of_each: list[Any], error: float) -> SegmentVerdict:
    """Return what is proven; that anything of it is wrong has probability `error`."""
    result: list[Statement] = []
    best: list[list[int | None]] = []
    beaten: set[int] = set()
    sizes = np.diff(segments.evidence[0].starts) if segments.evidence else ()
    for number, evidence in enumerate(segments.evidence):
        proven = evidence.proof >= math.log(max(1, comparisons(sizes)) / (error * part_of(number)))
        best.append([])
        for levels in levels_of_each:
            among = proven[np.ix_(levels, levels)]
            result += [Statement(number, int(levels[x]), int(levels[y])) for x, y in np.argwhere(among)]
            beaten |= set(levels[among.any(axis=0)].tolist())
            winners = levels[among.sum(axis=1) == len(levels) - 1] if len(levels) > 1 else levels
            best[-1].append(int(winners[0]) if len(winners) else None)
    depends = [len(levels) > 1 and beaten.issuperset(levels.tolist()) for levels in levels_of_each]
    return SegmentVerdict(result, depends, best)


def shrunken_ratios(evidences: list[Evidence], level: int, leader: int, common: float) -> Floats:
    """Return in each segment the clicks of a level for each of the leading one, drawn towards the log ratio of all."""
    if level == leader:
        return np.ones(len(evidences))
    points, _ = likelihood(evidences[0], level, leader)
    each = np.array([likelihood(evidence, level, leader)[1] for evidence in evidences])
    between = _variance_between(points, each, common)
    if between == 0.0:
        return np.full(len(evidences), math.exp(common))
    return np.exp(peaks(points, each - 0.5 * (points - common) ** 2 / between)[0])


def _variance_between(points: Floats, each: Floats, common: float) -> float:
    """Return how much log ratios vary between segments, beyond what chance explains: the moment estimate.

    A segment without a click on one of the two levels has no estimate of its own. So each is drawn a little towards the
    common one, by as much as a ratio `_WIDE` times off is unlikely, and that is allowed for.
    """
    own = 1.0 / math.log(_WIDE) ** 2
    values, bends = peaks(points, each - 0.5 * own * (points - common) ** 2)
    weight = np.maximum(bends, own)
    clicks = 1.0 - own / weight  # the part of each estimate that is its clicks'
    if (clicks > 0.0).sum() < 2:
        return 0.0
    scatter = float((weight * (values - (weight * values).sum() / weight.sum()) ** 2).sum())
    chance, known = float((clicks * (1.0 - weight / weight.sum())).sum()), weight * clicks**2
    spread = float(known.sum() - (known**2).sum() / known.sum())
    return max(0.0, (scatter - chance) / spread) if spread > 0.0 else 0.0
