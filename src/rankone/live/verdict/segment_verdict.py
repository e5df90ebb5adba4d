"""Does what is best depend on the segment? One error for everything that is said about segments.

**Statements.** Within a segment the evidence of `rankone.evidence.levels` holds as it does for the whole site, with a
movement s_t of the segment's own: "x beats y among phones" is proven when its evidence reaches 1 / (its part of the
error). The error is spread over all segments and all ordered pairs of levels: half of it over the first eight segments
that come, a quarter over the next sixteen, a quarter over the last forty. A segment's part is settled when it first
comes, before anything is known of it; so all such statements together, for all segments and from one restart to the
next, are wrong with probability at most the error (Ville's inequality and a sum). A declaration of segments under which
some do not fit is a restart of their evidence. All else follows from these statements by logic:

* a level is the best *in a segment* if it is proven there to beat all others;
* the best level *depends* on the segment if every level is proven to be beaten in some segment: then none is the best
  in all of them. Segments that only rescale clicks, or whose ratios differ while the same level is the best, never
  prove that;
* it is the *same* if the same level is proven the best in every segment.

**Estimates** are shrunken: with few clicks a segment's own ratio says little. Take the log ratio of a level to the one
that leads overall, theta_s in segment s, as drawn from a normal law around a common value mu. mu is the estimate for
all visitors together, the variance between segments the moment estimate of DerSimonian and Laird (Controlled Clinical
Trials, 1986), and theta_s is where its posterior is highest. Where segments differ by no more than
chance allows, the variance is 0 and all of them have the common ratio. Estimates carry no promise.
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
